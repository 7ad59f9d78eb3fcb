/* Softmax attention, with logits that never leave the processor's cache. */
#include "attention.h"

#ifdef HIDDEN
#include "across_heads.h"
#define TOGETHER HEADS /* heads at a time, because a network reads all of them */
#else
#define TOGETHER 1
#endif
#define BLOCK round_up(1024 / TOGETHER) /* keys at a time */
#define GROUP 8                         /* times SIDE queries read each block of keys in turn */

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
static inline float to_logits(int64_t count, float *x, float scale, const float *factor, const float *mask, float level,
                           float greatest) {
  if (factor) {
#pragma omp simd reduction(max : greatest)
    for (int64_t n = 0; n < count; n++) {
      x[n] = x[n] * (scale * factor[n]) + (mask[n] - level);
      greatest = x[n] > greatest ? x[n] : greatest;
    }
  } else if (mask) {
#pragma omp simd reduction(max : greatest)
    for (int64_t n = 0; n < count; n++) {
      x[n] = x[n] * scale + (mask[n] - level);
      greatest = x[n] > greatest ? x[n] : greatest;
    }
  } else {
#pragma omp simd reduction(max : greatest)
    for (int64_t n = 0; n < count; n++) {
      x[n] *= scale;
      greatest = x[n] > greatest ? x[n] : greatest;
    }
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

/* Turn the products x of query i with `columns` keys from `start` on into weights, and rescale its earlier output. */
static void update_weights(Reader *r, int64_t i, int64_t start, int64_t columns, float *x, operand *to) {
  Head head = r->head;
  const Params *args = head.args;
  int64_t query = r->block.first + i, end = args->before + query + 1, seen = min(start + columns, args->keys) - start;
  if (args->causal) seen = max(0, min(seen, end - start));
  const float *factor = line(head, &args->factor, query), *mask = line(head, &args->mask, query);
  int64_t count = round_up(seen), known = mask ? min(count, args->keys - start) : count;
  float *last = x + max(0, count - SIDE), hidden = factor ? 0 : -INFINITY; /* with a factor, the mask hides keys */
  for (int64_t n = 0, left = seen - (last - x); n < SIDE; n++) last[n] = n < left ? last[n] : hidden;
  for (int64_t n = known; n < count; n++) x[n] = -INFINITY;
  if (args->window)
    for (int64_t n = 0; n < min(count, end - args->window - start); n++) x[n] = hidden;
  float before = r->greatest[i], scale = args->scale, level = args->is_decay ? mask[end - 1] : 0;
  level = level == -INFINITY ? 0 : level;
  factor = factor ? factor + start : NULL, mask = mask ? mask + start : NULL;
  float greatest = to_logits(known, x, scale, factor, mask, level, before), base = greatest == -INFINITY ? 0 : greatest;
  float less = exponential(before - base), sum = exponentials(count, x, base);
  if (mask && sum != sum) sum = clear_hidden(known, x, mask);
  int64_t wide = round_up(args->width);
  float *read = r->read + i * wide;
  if (greatest > before)
    for (int64_t d = 0; d < wide; d++) read[d] *= less;
  r->greatest[i] = greatest;
  r->sum[i] = args->probs.data ? 1 : r->sum[i] * less + sum;
  scale_operands(count, x, args->probs.data ? 1 / sum : 1, to);
  for (int64_t n = count; n < columns; n++) to[n] = 0;
  if (args->probs.data) store(columns, to, row(head, &args->probs, query) + start);
}

/* Add the values of a block of keys to the outputs of all queries of a group. */
static void read_block(Reader (*readers)[TOGETHER], int64_t count, int64_t from, int64_t until, const Workspace *room) {
  int64_t deep = room->deep, wide = room->wide, all = room->all, gap = room->gap;
  for (int64_t n = 0; n < count; n++) {
    Reader *r = readers[n];
    int64_t start = max(from, r->block.begin), rows = r->block.count;
    int64_t columns = round_up(min(until, r->block.end) - start);
    if (columns <= 0) continue;
    for (int h = 0; h < TOGETHER; h++) {
      Right keys = corner(right(room->keys + h * all * deep, deep), 0, start);
      multiply(rows, columns, deep, r[h].q, deep, keys, room->logits + h * SIDE * gap, gap, 0);
    }
#ifdef HIDDEN
    for (int64_t i = 0; i < rows; i++) {
      const float *units = line(r->head, &r->head.args->units, r->block.first + i);
      mix(r->head.args, units + start, columns, room->logits + i * gap, SIDE * gap);
    }
#endif
    for (int h = 0; h < TOGETHER; h++) {
      for (int64_t i = 0; i < rows; i++)
        update_weights(r + h, i, start, columns, room->logits + (h * SIDE + i) * gap, room->weights + i * gap);
      Right values = corner(right(room->values + h * all * wide, all), start, 0);
      multiply(rows, wide, columns, room->weights, gap, values, r[h].read, wide, 1);
    }
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

/* Compute one part of the queries, for TOGETHER heads from `head` on. */
static void read_heads(Head head, int64_t part, int64_t group, int64_t block, const Workspace *room) {
  const Params *args = head.args;
  int64_t deep = room->deep, wide = room->wide, all = room->all;
  Reader readers[GROUP][TOGETHER];
  for (int h = 0; h < TOGETHER; h++) {
    Head member = {args, head.b, head.h + h};
    const StridedTensor *k = &args->k, *v = &args->v;
    across_right(args->keys, args->inner, row(member, k, 0), k->strides[2], room->keys + h * all * deep, deep);
    as_right(args->keys, args->width, row(member, v, 0), v->strides[2], room->values + h * all * wide, all);
  }
  for (int64_t first = part * group; first < args->queries; first += args->parts * group) {
    int64_t begin = args->keys, end = 0, left = min(group, args->queries - first), count = round_up(left) / SIDE;
    memset(room->read, 0, TOGETHER * group * wide * sizeof *room->read);
    for (int h = 0; h < TOGETHER; h++) {
      Head member = {args, head.b, head.h + h};
      as_left(left, args->inner, row(member, &args->q, first), args->q.strides[2], room->q + h * group * deep, deep);
      for (int64_t n = 0; n < count; n++) {
        int64_t at = h * group + n * SIDE;
        Reader *r = &readers[n][h];
        *r = (Reader){member, queries(args, first + n * SIDE), room->q + at * deep, room->read + at * wide};
        for (int i = 0; i < SIDE; i++) r->greatest[i] = -INFINITY;
        begin = min(begin, r->block.begin), end = max(end, r->block.end);
      }
    }
    for (int64_t from = begin; from < end; from += block) read_block(readers, count, from, from + block, room);
    for (int h = 0; h < TOGETHER; h++)
      for (int64_t i = 0; i < left; i++) write_output(&readers[i / SIDE][h], i % SIDE);
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
      take(memory, TOGETHER * all * deep, sizeof(operand)), take(memory, TOGETHER * all * wide, sizeof(operand)),
      take(memory, TOGETHER * group_of(args) * deep, sizeof(operand)), take(memory, SIDE * gap, sizeof(operand)),
      take(memory, TOGETHER * SIDE * gap, sizeof(float)), take(memory, TOGETHER * group_of(args) * wide, sizeof(float)),
      deep, wide, all, gap,
  };
}

int64_t attention_memory(const Params *args) {
  Memory memory = {0};
  workspace(args, &memory);
  return memory.used;
}

/* Compute softmax(scale * factor * q k^T + mask) v with one more logit for each query, `sink`; or, for scaled q, with
   the logits that a network makes of all heads' products. */
void attention(const Params *args) {
#pragma omp parallel num_threads(args->threads) if (args->sequences * args->heads * args->queries * args->keys > MANY)
  {
    Memory memory = {args->memory + omp_get_thread_num() * args->per_thread};
    Workspace room = workspace(args, &memory);
    unsigned before = begin_products();
#pragma omp for collapse(3)
    for (int64_t b = 0; b < args->sequences; b++)
      for (int64_t h = 0; h < args->heads; h += TOGETHER)
        for (int64_t part = 0; part < args->parts; part++)
          read_heads((Head){args, b, h}, part, group_of(args), block_of(args), &room);
    end_products(before);
  }
}
