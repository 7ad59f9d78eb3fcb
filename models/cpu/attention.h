/* The parameters of attention, and the places of their numbers. */
#include "operands.h"

#define GAP 32 /* padding between lines: powers of 2 as distances would share cache sets */

/* A tensor (B, H, count, width), or a float for each pair or query; null if absent. The strides count numbers from one
   sequence, head and token to the next. */
typedef struct {
  void *data;
  int64_t strides[3];
} StridedTensor;

typedef struct {
  int64_t sequences, heads, queries, keys, inner, width; /* of q and k, and of v */
  int64_t before;         /* the number of keys before that of the first query */
  int64_t causal, window; /* window: the number of last keys that a query sees, 0 for all */
  int64_t parts, sharing; /* of each head's queries, for parallel threads; heads of q to one of k and v */
  int64_t is_decay;       /* the mask depends on the key alone; that of the query's own key is subtracted */
  StridedTensor q, k, v, out, probs; /* probs: weights (B, H, queries, keys rounded up) for the backward pass */
  StridedTensor gradient, to_q, to_k, to_v, factor, mask, sink, to_mask;
  StridedTensor lse; /* the logarithm of the sum of a query's weights, if requested */
  float scale;
  char *memory; /* zeros, `per_thread` bytes for each of `threads` */
  int64_t per_thread, threads;
} Params;

/* Return the size of Params, for the caller to check its own definition. */
int64_t params_size(void) { return sizeof(Params); }

/* A head of a sequence. */
typedef struct {
  const Params *args;
  int64_t b, h;
} Head;

static inline int64_t offset(Head head, const int64_t *strides, int64_t n) {
  return head.b * strides[0] + head.h * strides[1] + n * strides[2];
}

static inline element *row(Head head, const StridedTensor *tensor, int64_t n) {
  return (element *)tensor->data + offset(head, tensor->strides, n);
}

static inline float *line(Head head, const StridedTensor *tensor, int64_t n) {
  return tensor->data ? (float *)tensor->data + offset(head, tensor->strides, n) : NULL;
}

/* Up to SIDE queries, and the range of keys that they see. */
typedef struct {
  int64_t first, count, begin, end;
} Queries;

static inline Queries queries(const Params *args, int64_t first) {
  int64_t count = min(SIDE, args->queries - first), seen = args->before + first + 1; /* keys up to the first query's */
  int64_t begin = args->window ? max(0, seen - args->window) / SIDE * SIDE : 0;
  return (Queries){first, count, begin, args->causal ? min(args->keys, seen + count - 1) : args->keys};
}
