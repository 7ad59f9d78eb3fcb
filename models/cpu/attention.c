/* Softmax attention, with logits that never leave the processor's cache. */
#include "attention.h"

#define BLOCK 1024 /* keys at a time */
#define GROUP 8    /* times SIDE queries read each block of keys in turn */

/* Queries of a head, with their unfinished outputs, greatest logits and sums of weights. */
typedef struct {
  Head head;
  Queries block;
  const operand *q;
  float *read, greatest[SIDE], sum[SIDE];
} Reader;

/* The memory of a thread. */
typedef struct {
  operand *keys, *values, *q, *weights;
  float *logits, *read;
  int64_t deep, wide, all, gap; /* inner, width and keys, rounded up; between lines of weights */
} Workspace;

/* Turn products x into logits, scale * factor * x + mask - level; return the maximum of these and `greatest`. */
static inline __attribute__((always_inline)) float to_logits(int64_t count, float *x, float scale, const float *factor,
                                                             const float *mask, float level, float greatest) {
#pragma omp simd reduction(max : greatest)
  for (int64_t n = 0; n < count; n++) {
    x[n] = x[n] * (factor ? scale * factor[n] : scale) + (mask ? mask[n] - level : 0);
    greatest = x[n] > greatest ? x[n] : greatest;
  }
  return greatest;
}

/* Turn logits x into weights e^(x - greatest); return their sum. */
static inline float exponentials(int64_t count, float *x, float greatest) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t n = 0; n < count; n++) sum += x[n] = exponential(x[n] - greatest);
  return sum;
}

/* Clear the weights of hidden keys, which may be NaN; return the sum of the others. */
static float clear_hidden(int64_t count, float *x, const float *mask) {
  float sum = 0;
  for (int64_t n = 0; n < count; n++) sum += x[n] = mask[n] == -INFINITY ? 0 : x[n];
  return sum;
}

/* Hide the keys after the first `seen` of a block's last SIDE, and those before `first`. */
static void hide_keys(int64_t count, int64_t first, int64_t seen, float hidden, float *x) {
  for (int64_t n = max(0, count - SIDE); n < count; n++) x[n] = n < seen ? x[n] : hidden;
  for (int64_t n = 0; n < min(count, first); n++) x[n] = hidden;
}

/* Multiply the earlier output of query i by `less`, as its greatest logit has grown, and add to its sum of weights. */
static void rescale(Reader *r, int64_t i, float greatest, float less, float sum) {
  int64_t wide = round_up(r->head.args->width);
  float *read = r->read + i * wide;
  if (greatest > r->greatest[i])
    for (int64_t d = 0; d < wide; d++) read[d] *= less;
  r->greatest[i] = greatest;
  r->sum[i] = r->head.args->probs.data ? 1 : r->sum[i] * less + sum;
}

/* Turn the products x of query i with `columns` keys from `start` on into weights, and rescale its earlier output. */
static void update_weights(Reader *r, int64_t i, int64_t start, int64_t columns, float *x, operand *to) {
  Head head = r->head;
  const Params *args = head.args;
  int64_t query = r->block.first + i, end = args->before + query + 1, last = args->keys - start;
  int64_t seen = args->causal ? max(0, min(min(columns, last), end - start)) : min(columns, last);
  int64_t count = round_up(seen), known = count;
  const float *factor = line(head, &args->factor, query), *mask = line(head, &args->mask, query);
  hide_keys(count, args->window ? end - args->window - start : 0, seen, factor ? 0 : -INFINITY, x);
  float level = args->is_decay && mask[end - 1] != -INFINITY ? mask[end - 1] : 0;
  if (mask) {
    known = min(count, last);
    for (int64_t n = known; n < count; n++) x[n] = -INFINITY;
    mask += start;
  }
  float before = r->greatest[i];
  float greatest = factor ? to_logits(known, x, args->scale, factor + start, mask, level, before)
                   : mask ? to_logits(known, x, args->scale, NULL, mask, level, before)
                          : to_logits(known, x, args->scale, NULL, NULL, 0, before);
  float base = greatest == -INFINITY ? 0 : greatest, sum = exponentials(count, x, base);
  if (mask && sum != sum) sum = clear_hidden(known, x, mask);
  rescale(r, i, greatest, exponential(before - base), sum);
  scale_operands(count, x, args->probs.data ? 1 / sum : 1, to);
  for (int64_t n = count; n < columns; n++) to[n] = 0;
  if (args->probs.data) store(columns, to, row(head, &args->probs, query) + start);
}

/* Add the values of a block of keys to the outputs of all queries of a group. */
static void read_block(Reader *readers, int64_t count, int64_t from, int64_t until, const Workspace *room) {
  int64_t deep = room->deep, wide = room->wide;
  for (Reader *r = readers; r < readers + count; r++) {
    int64_t start = max(from, r->block.begin), columns = round_up(min(until, r->block.end) - start);
    if (columns <= 0) continue;
    Right keys = corner(right(room->keys, deep), 0, start), values = corner(right(room->values, room->all), start, 0);
    multiply(r->block.count, columns, deep, r->q, deep, keys, room->logits, room->gap, 0);
    for (int64_t i = 0; i < r->block.count; i++)
      update_weights(r, i, start, columns, room->logits + i * room->gap, room->weights + i * room->gap);
    multiply(r->block.count, wide, columns, room->weights, room->gap, values, r->read, wide, 1);
  }
}

/* Write the output of query i, after adding its sink to the sum of weights. */
static void write_output(const Reader *r, int64_t i) {
  Head head = r->head;
  int64_t query = r->block.first + i, width = head.args->width;
  const float *read = r->read + i * round_up(width), *sink = line(head, &head.args->sink, query);
  float greatest = r->greatest[i], sum = r->sum[i], share = 1 / sum, *total = line(head, &head.args->lse, query);
  if (sink) {
    float top = *sink > greatest ? *sink : greatest, less = exponential(greatest - top);
    sum = sum * less + exponential(*sink - top);
    share = less / sum;
    greatest = top;
  }
  if (total) *total = greatest + logf(sum);
  element *to = row(head, &head.args->out, query);
#pragma omp simd
  for (int64_t d = 0; d < width; d++) to[d] = narrow(read[d] * share);
}

/* Compute one part of the queries of a head. */
static void read_head(Head head, int64_t part, int64_t group, int64_t block, const Workspace *room) {
  const Params *args = head.args;
  int64_t deep = room->deep, wide = room->wide, all = room->all;
  Head read = {args, head.b, head.h / args->sharing};
  Reader readers[GROUP];
  across_right(args->keys, args->inner, row(read, &args->k, 0), args->k.strides[2], room->keys, deep);
  as_right(args->keys, args->width, row(read, &args->v, 0), args->v.strides[2], room->values, all);
  for (int64_t first = part * group; first < args->queries; first += args->parts * group) {
    int64_t begin = args->keys, end = 0, left = min(group, args->queries - first), count = round_up(left) / SIDE;
    memset(room->read, 0, group * wide * sizeof *room->read);
    as_left(left, args->inner, row(head, &args->q, first), args->q.strides[2], room->q, deep);
    for (int64_t n = 0; n < count; n++) {
      Reader *r = &readers[n];
      *r = (Reader){head, queries(args, first + n * SIDE), room->q + n * SIDE * deep, room->read + n * SIDE * wide};
      for (int i = 0; i < SIDE; i++) r->greatest[i] = -INFINITY;
      begin = min(begin, r->block.begin), end = max(end, r->block.end);
    }
    for (int64_t from = begin; from < end; from += block) read_block(readers, count, from, from + block, room);
    for (int64_t i = 0; i < left; i++) write_output(&readers[i / SIDE], i % SIDE);
  }
}

static int64_t group_of(const Params *args) {
  return min(round_up(args->queries), args->probs.data ? SIDE : GROUP * SIDE);
}

static int64_t block_of(const Params *args) { return min(round_up(args->keys), args->probs.data ? INT64_MAX : BLOCK); }

static Workspace workspace(const Params *args, Memory *memory) {
  int64_t deep = round_up(args->inner), wide = round_up(args->width), all = round_up(args->keys);
  int64_t gap = block_of(args) + GAP;
  return (Workspace){
      take(memory, all * deep, sizeof(operand)), take(memory, all * wide, sizeof(operand)),
      take(memory, group_of(args) * deep, sizeof(operand)), take(memory, SIDE * gap, sizeof(operand)),
      take(memory, SIDE * gap, sizeof(float)), take(memory, group_of(args) * wide, sizeof(float)),
      deep, wide, all, gap,
  };
}

int64_t attention_memory(const Params *args) {
  Memory memory = {0};
  workspace(args, &memory);
  return memory.used;
}

/* Compute softmax(scale * factor * q k^T + mask) v with one more logit for each query, `sink`. */
void attention(const Params *args) {
#pragma omp parallel num_threads(args->threads) if (args->sequences * args->heads * args->queries * args->keys > MANY)
  {
    Memory memory = {args->memory + omp_get_thread_num() * args->per_thread};
    Workspace room = workspace(args, &memory);
    unsigned before = begin_products();
#pragma omp for collapse(3)
    for (int64_t b = 0; b < args->sequences; b++)
      for (int64_t h = 0; h < args->heads; h++)
        for (int64_t part = 0; part < args->parts; part++)
          read_head((Head){args, b, h}, part, group_of(args), block_of(args), &room);
    end_products(before);
  }
}
