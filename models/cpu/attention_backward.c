/* The gradient of softmax attention, by the weights that its forward pass kept. */
#include "attention.h"

/* What a thread works with. */
typedef struct {
  operand *keys, *values, *gradient, *left, *slopes, *turned;
  float *weights, *to_q, *to_k, *to_v; /* gradients; the last two of a whole head, transposed */
  int64_t deep, wide, all, gap;        /* sizes rounded up; numbers from one line of weights to the next */
} Workspace;

/* The gradient x of some weights p becomes that of the products that they come from; `to_mask` adds up that of the
   logits. */
static inline void through_softmax(int64_t count, const element *p, float *x, const float *factor, float *to_mask) {
  float mean = 0, sum = 0; /* of rounded weights: about 1 */
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

/* From the gradient of some queries' weights, those of their products, times the scale, as a left matrix. */
static void through_logits(Head own, Queries some, int64_t columns, const Workspace *room) {
  const Params *of = own.of;
  for (int64_t i = 0; i < some.count; i++) {
    const float *factor = line(own, &of->factor, some.first + i);
    float *x = room->weights + i * room->gap, *to_mask = line(own, &of->to_mask, some.first + i);
    int64_t count = factor || to_mask ? least(columns, of->keys - some.begin) : columns;
    const element *p = row(own, &of->probs, some.first + i) + some.begin;
    through_softmax(count, p, x, factor ? factor + some.begin : NULL, to_mask ? to_mask + some.begin : NULL);
    for (int64_t n = count; n < columns; n++) x[n] = 0;
    lower(columns, x, of->scale, room->slopes + i * room->gap);
  }
}

/* The gradients of some queries, and what they add to those of their keys and values. */
static void of_queries(Head own, Queries some, const Workspace *room) {
  const Params *of = own.of;
  int64_t deep = room->deep, wide = room->wide, all = room->all, gap = room->gap, columns = up(some.end - some.begin);
  const element *gradient = row(own, &of->gradient, some.first), *kept = row(own, &of->probs, some.first) + some.begin;
  Right keys = right(room->keys, all), values = right(room->values, wide);
  as_left(some.count, of->width, gradient, of->gradient.strides[2], room->gradient, wide);
  multiply(some.count, columns, wide, room->gradient, wide, corner(values, 0, some.begin), room->weights, gap, 0);
  through_logits(own, some, columns, room);
  multiply(some.count, deep, columns, room->slopes, gap, corner(keys, some.begin, 0), room->to_q, deep, 0);
  for (int64_t i = 0; i < some.count; i++) {
    element *to = row(own, &of->to_q, some.first + i);
    for (int64_t d = 0; d < of->inner; d++) to[d] = narrow(room->to_q[i * deep + d]);
  }
  Right slopes = in_turns(some.count, columns, room->slopes, gap, room->turned);
  across_left(some.count, of->inner, row(own, &of->q, some.first), of->q.strides[2], room->left);
  multiply(deep, columns, SIDE, room->left, SIDE, slopes, room->to_k + some.begin, all, 1);
  Right weights = kept_in_turns(some.count, columns, kept, of->probs.strides[2], room->turned, gap);
  across_left(some.count, of->width, gradient, of->gradient.strides[2], room->left);
  multiply(wide, columns, SIDE, room->left, SIDE, weights, room->to_v + some.begin, all, 1);
}

static void of_head(Head own, const Workspace *room) {
  const Params *of = own.of;
  as_right(of->keys, of->inner, row(own, &of->k, 0), of->k.strides[2], room->keys, room->all);
  across_right(of->keys, of->width, row(own, &of->v, 0), of->v.strides[2], room->values, room->wide);
  memset(room->to_k, 0, room->deep * room->all * sizeof *room->to_k);
  memset(room->to_v, 0, room->wide * room->all * sizeof *room->to_v);
  for (int64_t first = 0; first < of->queries; first += SIDE) of_queries(own, queries(of, first), room);
  for (int64_t n = 0; n < of->keys; n++) {
    element *to_k = row(own, &of->to_k, n), *to_v = row(own, &of->to_v, n);
    for (int64_t d = 0; d < of->inner; d++) to_k[d] = narrow(room->to_k[d * room->all + n]);
    for (int64_t d = 0; d < of->width; d++) to_v[d] = narrow(room->to_v[d * room->all + n]);
  }
}

static Workspace workspace(const Params *of, Memory *memory) {
  int64_t deep = up(of->inner), wide = up(of->width), all = up(of->keys), gap = all + GAP;
  return (Workspace){
      take(memory, all * deep, sizeof(operand)), take(memory, all * wide, sizeof(operand)),
      take(memory, SIDE * wide, sizeof(operand)), take(memory, SIDE * most(deep, wide), sizeof(operand)),
      take(memory, SIDE * gap, sizeof(operand)), take(memory, SIDE * gap, sizeof(operand)),
      take(memory, SIDE * gap, sizeof(float)), take(memory, SIDE * deep, sizeof(float)),
      take(memory, deep * all, sizeof(float)), take(memory, wide * all, sizeof(float)),
      deep, wide, all, gap,
  };
}

int64_t attention_backward_memory(const Params *of) {
  Memory memory = {0};
  workspace(of, &memory);
  return memory.used;
}

/* Gradients of q, k and v; those of the mask are added up, by one thread those of all sequences where these share it. */
void attention_backward(const Params *of) {
  int64_t shared = of->to_mask.at && of->to_mask.strides[0] == 0, turns = shared ? 1 : of->sequences;
#pragma omp parallel num_threads(of->threads) if (of->sequences * of->heads * of->queries * of->keys > MANY)
  {
    Memory memory = of_thread(of);
    Workspace room = workspace(of, &memory);
    unsigned before = begin_products();
#pragma omp for collapse(2)
    for (int64_t h = 0; h < of->heads; h++)
      for (int64_t turn = 0; turn < turns; turn++)
        for (int64_t b = turn; b < (shared ? of->sequences : turn + 1); b++) of_head((Head){of, b, h}, &room);
    end_products(before);
  }
}
