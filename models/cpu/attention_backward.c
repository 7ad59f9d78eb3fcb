/* The gradient of softmax attention, from the weights that its forward pass kept. */
#include "attention.h"

/* The memory of a thread. */
typedef struct {
  operand *keys, *values, *gradient, *left, *slopes, *turned;
  float *weights, *to_q, *to_k, *to_v; /* gradients; the last two for a whole head, transposed */
  int64_t deep, wide, all, gap;        /* inner, width and keys, rounded up; between lines of weights */
} Workspace;

/* Turn the gradient x of weights p into that of their products; add that of their logits to `to_mask`. */
static inline void softmax_gradient(int64_t count, const element *p, float *x, const float *factor, float *to_mask) {
  float mean = 0, sum = 0; /* the sum of rounded weights is about 1 */
#pragma omp simd reduction(+ : mean, sum)
  for (int64_t n = 0; n < count; n++) {
    mean += widen(p[n]) * x[n];
    sum += widen(p[n]);
  }
  mean /= sum;
#pragma omp simd
  for (int64_t n = 0; n < count; n++) x[n] = widen(p[n]) * (x[n] - mean);
  if (to_mask)
    for (int64_t n = 0; n < count; n++) to_mask[n] += x[n];
  if (factor)
    for (int64_t n = 0; n < count; n++) x[n] *= factor[n];
}

/* Turn the gradient of queries' weights into that of their products, times the scale, as a left matrix. */
static void logits_gradient(Head head, Queries block, int64_t columns, const Workspace *room) {
  const Params *args = head.args;
  for (int64_t i = 0; i < block.count; i++) {
    const float *factor = line(head, &args->factor, block.first + i);
    float *x = room->weights + i * room->gap, *to_mask = line(head, &args->to_mask, block.first + i);
    int64_t count = factor || to_mask ? min(columns, args->keys - block.begin) : columns;
    const element *p = row(head, &args->probs, block.first + i) + block.begin;
    softmax_gradient(count, p, x, factor ? factor + block.begin : NULL, to_mask ? to_mask + block.begin : NULL);
    for (int64_t n = count; n < columns; n++) x[n] = 0;
    scale_operands(columns, x, args->scale, room->slopes + i * room->gap);
  }
}

/* Compute the gradients of queries, and add their part to the gradients of keys and values. */
static void queries_gradient(Head head, Queries block, const Workspace *room) {
  const Params *args = head.args;
  int64_t deep = room->deep, wide = room->wide, all = room->all, gap = room->gap;
  int64_t columns = round_up(block.end - block.begin);
  const element *gradient = row(head, &args->gradient, block.first);
  const element *kept = row(head, &args->probs, block.first) + block.begin;
  Right keys = right(room->keys, all), values = right(room->values, wide);
  as_left(block.count, args->width, gradient, args->gradient.strides[2], room->gradient, wide);
  multiply(block.count, columns, wide, room->gradient, wide, corner(values, 0, block.begin), room->weights, gap, 0);
  logits_gradient(head, block, columns, room);
  multiply(block.count, deep, columns, room->slopes, gap, corner(keys, block.begin, 0), room->to_q, deep, 0);
  for (int64_t i = 0; i < block.count; i++) {
    element *to = row(head, &args->to_q, block.first + i);
    for (int64_t d = 0; d < args->inner; d++) to[d] = narrow(room->to_q[i * deep + d]);
  }
  Right slopes = in_turns(block.count, columns, room->slopes, gap, room->turned);
  across_left(block.count, args->inner, row(head, &args->q, block.first), args->q.strides[2], room->left);
  multiply(deep, columns, SIDE, room->left, SIDE, slopes, room->to_k + block.begin, all, 1);
  Right weights = kept_in_turns(block.count, columns, kept, args->probs.strides[2], room->turned, gap);
  across_left(block.count, args->width, gradient, args->gradient.strides[2], room->left);
  multiply(wide, columns, SIDE, room->left, SIDE, weights, room->to_v + block.begin, all, 1);
}

static void head_gradient(Head head, const Workspace *room) {
  const Params *args = head.args;
  as_right(args->keys, args->inner, row(head, &args->k, 0), args->k.strides[2], room->keys, room->all);
  across_right(args->keys, args->width, row(head, &args->v, 0), args->v.strides[2], room->values, room->wide);
  memset(room->to_k, 0, room->deep * room->all * sizeof *room->to_k);
  memset(room->to_v, 0, room->wide * room->all * sizeof *room->to_v);
  for (int64_t first = 0; first < args->queries; first += SIDE) queries_gradient(head, queries(args, first), room);
  for (int64_t n = 0; n < args->keys; n++) {
    element *to_k = row(head, &args->to_k, n), *to_v = row(head, &args->to_v, n);
    for (int64_t d = 0; d < args->inner; d++) to_k[d] = narrow(room->to_k[d * room->all + n]);
    for (int64_t d = 0; d < args->width; d++) to_v[d] = narrow(room->to_v[d * room->all + n]);
  }
}

static Workspace workspace(const Params *args, Memory *memory) {
  int64_t deep = round_up(args->inner), wide = round_up(args->width), all = round_up(args->keys), gap = all + GAP;
  return (Workspace){
      take(memory, all * deep, sizeof(operand)), take(memory, all * wide, sizeof(operand)),
      take(memory, SIDE * wide, sizeof(operand)), take(memory, SIDE * max(deep, wide), sizeof(operand)),
      take(memory, SIDE * gap, sizeof(operand)), take(memory, SIDE * gap, sizeof(operand)),
      take(memory, SIDE * gap, sizeof(float)), take(memory, SIDE * deep, sizeof(float)),
      take(memory, deep * all, sizeof(float)), take(memory, wide * all, sizeof(float)),
      deep, wide, all, gap,
  };
}

int64_t attention_backward_memory(const Params *args) {
  Memory memory = {0};
  workspace(args, &memory);
  return memory.used;
}

/* Compute the gradients of q, k and v, and add up those of the mask: in one thread if sequences share it. */
void attention_backward(const Params *args) {
  int64_t shared = args->to_mask.data && args->to_mask.strides[0] == 0, turns = shared ? 1 : args->sequences;
#pragma omp parallel num_threads(args->threads) if (args->sequences * args->heads * args->queries * args->keys > MANY)
  {
    Memory memory = {args->memory + omp_get_thread_num() * args->per_thread};
    Workspace room = workspace(args, &memory);
    unsigned before = begin_products();
#pragma omp for collapse(2)
    for (int64_t h = 0; h < args->heads; h++)
      for (int64_t turn = 0; turn < turns; turn++)
        for (int64_t b = turn; b < (shared ? args->sequences : turn + 1); b++) head_gradient((Head){args, b, h}, &room);
    end_products(before);
  }
}
