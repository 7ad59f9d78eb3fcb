/* What attention is done to, and with. */
#include "operands.h"

#define GAP 32 /* numbers between lines, whose distance must be no power of 2 */

/* A tensor (B, H, count, width), or a float for each pair or query, null where there is none: strides are numbers from
   one sequence, head and token to the next. */
typedef struct {
  void *at;
  int64_t strides[3];
} StridedTensor;

typedef struct {
  int64_t sequences, heads, queries, keys, inner, width; /* of q and k, and of v */
  int64_t before;         /* how many keys come before that of the first query */
  int64_t causal, window; /* the latter: how many of the last keys a query sees, or 0 for all */
  int64_t parts;          /* of each head's queries, for as many threads */
  int64_t is_decay;       /* whether the mask is one of keys alone, of which that of a query's own is taken off */
  StridedTensor q, k, v, out, probs; /* the last: weights (B, H, queries, keys rounded up) for the backward pass */
  StridedTensor gradient, to_q, to_k, to_v, factor, mask, sink, to_mask;
  StridedTensor lse; /* the logarithm of the sum of a query's weights, where it is asked for */
  StridedTensor units; /* of a network across heads: what distances give to its units, and then to heads */
  const float *to_units, *from_units; /* (HIDDEN, HEADS) its weights for heads */
  float scale, leak;
  char *memory; /* zeros: `per_thread` bytes for each of `threads` */
  int64_t per_thread, threads;
} Params;

/* For the caller to compare with what it takes Params to be. */
int64_t params_size(void) { return sizeof(Params); }

static inline Memory of_thread(const Params *of) {
  return (Memory){of->memory + omp_get_thread_num() * of->per_thread, 0};
}

/* Of one head. */
typedef struct {
  const Params *of;
  int64_t b, h;
} Head;

static inline int64_t offset(Head own, const int64_t *strides, int64_t n) {
  return own.b * strides[0] + own.h * strides[1] + n * strides[2];
}

static inline element *row(Head own, const StridedTensor *of, int64_t n) {
  return (element *)of->at + offset(own, of->strides, n);
}

static inline float *line(Head own, const StridedTensor *of, int64_t n) {
  return of->at ? (float *)of->at + offset(own, of->strides, n) : NULL;
}

/* Up to SIDE queries, and which keys they see. */
typedef struct {
  int64_t first, count, begin, end;
} Queries;

static inline Queries queries(const Params *of, int64_t first) {
  int64_t count = least(SIDE, of->queries - first), own = of->before + first + 1; /* keys to that of the first */
  int64_t begin = of->window ? most(0, own - of->window) / SIDE * SIDE : 0;
  return (Queries){first, count, begin, of->causal ? least(of->keys, own + count - 1) : of->keys};
}
