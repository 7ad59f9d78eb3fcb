/* Softmax attention, with logits that never leave the processor's cache. */
#include "attention.h"

#ifdef HIDDEN
#include "across_heads.h"
#define TOGETHER HEADS /* heads at a time, because a network reads all of them */
#else
#define TOGETHER 1
#endif
#define BLOCK up(1024 / TOGETHER) /* keys at a time */
#define GROUP 8                   /* times SIDE queries read each block of keys in turn */

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
  int64_t deep, wide, all, gap; /* rounded-up sizes; the distance between lines of weights */
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
  const Params *of = head.of;
  int64_t query = r->block.first + i, end = of->before + query + 1, seen = least(start + columns, of->keys) - start;
  if (of->causal) seen = most(0, least(seen, end - start));
  const float *factor = line(head, &of->factor, query), *mask = line(head, &of->mask, query);
  int64_t count = up(seen), known = mask ? least(count, of->keys - start) : count;
  float *last = x + most(0, count - SIDE), hidden = factor ? 0 : -INFINITY; /* with a factor, the mask hides keys */
  for (int64_t n = 0, left = seen - (last - x); n < SIDE; n++) last[n] = n < left ? last[n] : hidden;
  for (int64_t n = known; n < count; n++) x[n] = -INFINITY;
  if (of->window)
    for (int64_t n = 0; n < least(count, end - of->window - start); n++) x[n] = hidden;
  float before = r->greatest[i], scale = of->scale, level = of->is_decay ? mask[end - 1] : 0;
  level = level == -INFINITY ? 0 : level;
  factor = factor ? factor + start : NULL, mask = mask ? mask + start : NULL;
  float greatest = to_logits(known, x, scale, factor, mask, level, before), base = greatest == -INFINITY ? 0 : greatest;
  float less = exponential(before - base), sum = exponentials(count, x, base);
  if (mask && sum != sum) sum = clear_hidden(known, x, mask);
  int64_t wide = up(of->width);
  float *read = r->read + i * wide;
  if (greatest > before)
    for (int64_t d = 0; d < wide; d++) read[d] *= less;
  r->greatest[i] = greatest;
  r->sum[i] = of->probs.at ? 1 : r->sum[i] * less + sum;
  scale_operands(count, x, of->probs.at ? 1 / sum : 1, to);
  for (int64_t n = count; n < columns; n++) to[n] = 0;
  if (of->probs.at) store(columns, to, row(head, &of->probs, query) + start);
}

/* Add the values of a block of keys to the outputs of all queries of a group. */
static void read_block(Reader (*readers)[TOGETHER], int64_t count, int64_t from, int64_t until, const Workspace *room) {
  int64_t deep = room->deep, wide = room->wide, all = room->all, gap = room->gap;
  for (int64_t n = 0; n < count; n++) {
    Reader *r = readers[n];
    int64_t start = most(from, r->block.begin), columns = up(least(until, r->block.end) - start), rows = r->block.count;
    if (columns <= 0) continue;
    for (int h = 0; h < TOGETHER; h++) {
      Right keys = corner(right(room->keys + h * all * deep, deep), 0, start);
      multiply(rows, columns, deep, r[h].q, deep, keys, room->logits + h * SIDE * gap, gap, 0);
    }
#ifdef HIDDEN
    for (int64_t i = 0; i < rows; i++) {
      const float *units = line(r->head, &r->head.of->units, r->block.first + i);
      mix(r->head.of, units + start, columns, room->logits + i * gap, SIDE * gap);
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
  int64_t query = r->block.first + i, width = head.of->width;
  const float *read = r->read + i * up(width), *sink = line(head, &head.of->sink, query);
  float greatest = r->greatest[i], sum = r->sum[i], share = 1 / sum, *total = line(head, &head.of->lse, query);
  if (sink) {
    float top = *sink > greatest ? *sink : greatest, less = exponential(greatest - top);
    sum = sum * less + exponential(*sink - top);
    share = less / sum;
    greatest = top;
  }
  if (total) *total = greatest + logf(sum);
  element *to = row(head, &head.of->out, query);
#pragma omp simd
  for (int64_t d = 0; d < width; d++) to[d] = narrow(read[d] * share);
}

/* Compute one part of the queries, for TOGETHER heads from `head` on. */
static void read_heads(Head head, int64_t part, int64_t group, int64_t block, const Workspace *room) {
  const Params *of = head.of;
  int64_t deep = room->deep, wide = room->wide, all = room->all;
  Reader readers[GROUP][TOGETHER];
  for (int h = 0; h < TOGETHER; h++) {
    Head member = {of, head.b, head.h + h};
    across_right(of->keys, of->inner, row(member, &of->k, 0), of->k.strides[2], room->keys + h * all * deep, deep);
    as_right(of->keys, of->width, row(member, &of->v, 0), of->v.strides[2], room->values + h * all * wide, all);
  }
  for (int64_t first = part * group; first < of->queries; first += of->parts * group) {
    int64_t begin = of->keys, end = 0, left = least(group, of->queries - first), count = up(left) / SIDE;
    memset(room->read, 0, TOGETHER * group * wide * sizeof *room->read);
    for (int h = 0; h < TOGETHER; h++) {
      Head member = {of, head.b, head.h + h};
      as_left(left, of->inner, row(member, &of->q, first), of->q.strides[2], room->q + h * group * deep, deep);
      for (int64_t n = 0; n < count; n++) {
        int64_t at = h * group + n * SIDE;
        Reader *r = &readers[n][h];
        *r = (Reader){member, queries(of, first + n * SIDE), room->q + at * deep, room->read + at * wide};
        for (int i = 0; i < SIDE; i++) r->greatest[i] = -INFINITY;
        begin = least(begin, r->block.begin), end = most(end, r->block.end);
      }
    }
    for (int64_t from = begin; from < end; from += block) read_block(readers, count, from, from + block, room);
    for (int h = 0; h < TOGETHER; h++)
      for (int64_t i = 0; i < left; i++) write_output(&readers[i / SIDE][h], i % SIDE);
  }
}

static int64_t group_of(const Params *of) { return of->probs.at ? SIDE : least(up(of->queries), GROUP * SIDE); }
static int64_t block_of(const Params *of) { return of->probs.at ? up(of->keys) : least(up(of->keys), BLOCK); }

static Workspace workspace(const Params *of, Memory *memory) {
  int64_t deep = up(of->inner), wide = up(of->width), all = up(of->keys), gap = block_of(of) + GAP;
  return (Workspace){
      take(memory, TOGETHER * all * deep, sizeof(operand)), take(memory, TOGETHER * all * wide, sizeof(operand)),
      take(memory, TOGETHER * group_of(of) * deep, sizeof(operand)), take(memory, SIDE * gap, sizeof(operand)),
      take(memory, TOGETHER * SIDE * gap, sizeof(float)), take(memory, TOGETHER * group_of(of) * wide, sizeof(float)),
      deep, wide, all, gap,
  };
}

int64_t attention_memory(const Params *of) {
  Memory memory = {0};
  workspace(of, &memory);
  return memory.used;
}

/* Compute softmax(scale * factor * q k^T + mask) v with one more logit for each query, `sink`; or, for scaled q, with
   the logits that a network makes of all heads' products. */
void attention(const Params *of) {
#pragma omp parallel num_threads(of->threads) if (of->sequences * of->heads * of->queries * of->keys > MANY)
  {
    Memory memory = of_thread(of);
    Workspace room = workspace(of, &memory);
    unsigned before = begin_products();
#pragma omp for collapse(3)
    for (int64_t b = 0; b < of->sequences; b++)
      for (int64_t h = 0; h < of->heads; h += TOGETHER)
        for (int64_t part = 0; part < of->parts; part++)
          read_heads((Head){of, b, h}, part, group_of(of), block_of(of), &room);
    end_products(before);
  }
}
