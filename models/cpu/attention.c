/* Softmax attention, whose logits never leave the processor's cache. */
#include "attention.h"

#ifdef HIDDEN
#include "across_heads.h"
#define TOGETHER HEADS /* as a network reads them */
#else
#define TOGETHER 1
#endif
#define BLOCK up(1024 / TOGETHER) /* keys at a time */
#define GROUP 8                   /* times SIDE queries that read them one after another */

/* Some queries of a head, and what they have read so far. */
typedef struct {
  Head own;
  Queries some;
  const operand *q;
  float *read, greatest[SIDE], sum[SIDE];
} Reader;

/* What a thread works with. */
typedef struct {
  operand *keys, *values, *q, *weights;
  float *logits, *read;
  int64_t deep, wide, all, gap; /* sizes rounded up; numbers from one line of weights to the next */
} Workspace;

/* Products x become logits, less `level`: scale * factor * x + mask. The greatest, or `greatest`. */
static inline float scored(int64_t count, float *x, float scale, const float *factor, const float *mask, float level,
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

/* Logits x become weights, the greatest of which is 1. Their sum. */
static inline float powers(int64_t count, float *x, float greatest) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t n = 0; n < count; n++) sum += x[n] = weight(x[n] - greatest);
  return sum;
}

/* Weights that are no numbers because of hidden keys become 0. Their sum. */
static float without_hidden(int64_t count, float *x, const float *mask) {
  float sum = 0;
  for (int64_t n = 0; n < count; n++) sum += x[n] = mask[n] == -INFINITY ? 0 : x[n];
  return sum;
}

/* The products x of query i and `columns` keys from `start` on become its weights. */
static void weigh(Reader *r, int64_t i, int64_t start, int64_t columns, float *x, operand *to) {
  Head own = r->own;
  const Params *of = own.of;
  int64_t query = r->some.first + i, end = of->before + query + 1, seen = least(start + columns, of->keys) - start;
  if (of->causal) seen = most(0, least(seen, end - start));
  const float *factor = line(own, &of->factor, query), *mask = line(own, &of->mask, query);
  int64_t count = up(seen), known = mask ? least(count, of->keys - start) : count;
  float *last = x + most(0, count - SIDE), hidden = factor ? 0 : -INFINITY; /* its mask hides what is hidden */
  for (int64_t n = 0, left = seen - (last - x); n < SIDE; n++) last[n] = n < left ? last[n] : hidden;
  for (int64_t n = known; n < count; n++) x[n] = -INFINITY;
  if (of->window)
    for (int64_t n = 0; n < least(count, end - of->window - start); n++) x[n] = hidden;
  float before = r->greatest[i], scale = of->scale, level = of->is_decay ? mask[end - 1] : 0;
  level = level == -INFINITY ? 0 : level;
  float greatest = scored(known, x, scale, factor ? factor + start : NULL, mask ? mask + start : NULL, level, before);
  float base = greatest == -INFINITY ? 0 : greatest, less = weight(before - base), sum = powers(count, x, base);
  if (mask && sum != sum) sum = without_hidden(known, x, mask + start);
  int64_t wide = up(of->width);
  float *read = r->read + i * wide;
  if (greatest > before)
    for (int64_t d = 0; d < wide; d++) read[d] *= less;
  r->greatest[i] = greatest;
  r->sum[i] = of->probs.at ? 1 : r->sum[i] * less + sum;
  lower(count, x, of->probs.at ? 1 / sum : 1, to);
  for (int64_t n = count; n < columns; n++) to[n] = 0;
  if (of->probs.at) store(columns, to, row(own, &of->probs, query) + start);
}

/* What all queries of a group read from a block of keys. */
static void read_block(Reader (*readers)[TOGETHER], int64_t count, int64_t from, int64_t until, const Workspace *room) {
  int64_t deep = room->deep, wide = room->wide, all = room->all, gap = room->gap;
  for (int64_t n = 0; n < count; n++) {
    Reader *r = readers[n];
    int64_t start = most(from, r->some.begin), columns = up(least(until, r->some.end) - start), rows = r->some.count;
    if (columns <= 0) continue;
    for (int h = 0; h < TOGETHER; h++) {
      Right keys = corner(right(room->keys + h * all * deep, deep), 0, start);
      multiply(rows, columns, deep, r[h].q, deep, keys, room->logits + h * SIDE * gap, gap, 0);
    }
#ifdef HIDDEN
    for (int64_t i = 0; i < rows; i++) {
      const float *units = line(r->own, &r->own.of->units, r->some.first + i);
      mix(r->own.of, units + start, columns, room->logits + i * gap, SIDE * gap);
    }
#endif
    for (int h = 0; h < TOGETHER; h++) {
      for (int64_t i = 0; i < rows; i++)
        weigh(r + h, i, start, columns, room->logits + (h * SIDE + i) * gap, room->weights + i * gap);
      Right values = corner(right(room->values + h * all * wide, all), start, 0);
      multiply(rows, wide, columns, room->weights, gap, values, r[h].read, wide, 1);
    }
  }
}

/* What query i has read, beside one more logit. */
static void write(const Reader *r, int64_t i) {
  Head own = r->own;
  int64_t query = r->some.first + i, width = own.of->width;
  const float *read = r->read + i * up(width), *sink = line(own, &own.of->sink, query);
  float greatest = r->greatest[i], sum = r->sum[i], share = 1 / sum, *total = line(own, &own.of->lse, query);
  if (sink) {
    float top = *sink > greatest ? *sink : greatest, less = weight(greatest - top);
    sum = sum * less + weight(*sink - top);
    share = less / sum;
    greatest = top;
  }
  if (total) *total = greatest + logf(sum);
  element *to = row(own, &own.of->out, query);
#pragma omp simd
  for (int64_t d = 0; d < width; d++) to[d] = narrow(read[d] * share);
}

/* All queries of one part of heads from `own` on. */
static void read_heads(Head own, int64_t part, int64_t group, int64_t block, const Workspace *room) {
  const Params *of = own.of;
  int64_t deep = room->deep, wide = room->wide, all = room->all;
  Reader readers[GROUP][TOGETHER];
  for (int h = 0; h < TOGETHER; h++) {
    Head one = {of, own.b, own.h + h};
    across_right(of->keys, of->inner, row(one, &of->k, 0), of->k.strides[2], room->keys + h * all * deep, deep);
    as_right(of->keys, of->width, row(one, &of->v, 0), of->v.strides[2], room->values + h * all * wide, all);
  }
  for (int64_t first = part * group; first < of->queries; first += of->parts * group) {
    int64_t begin = of->keys, end = 0, some = least(group, of->queries - first), count = up(some) / SIDE;
    memset(room->read, 0, TOGETHER * group * wide * sizeof *room->read);
    for (int h = 0; h < TOGETHER; h++) {
      Head one = {of, own.b, own.h + h};
      as_left(some, of->inner, row(one, &of->q, first), of->q.strides[2], room->q + h * group * deep, deep);
      for (int64_t n = 0; n < count; n++) {
        int64_t at = h * group + n * SIDE;
        Reader *r = &readers[n][h];
        *r = (Reader){one, queries(of, first + n * SIDE), room->q + at * deep, room->read + at * wide};
        for (int i = 0; i < SIDE; i++) r->greatest[i] = -INFINITY;
        begin = least(begin, r->some.begin), end = most(end, r->some.end);
      }
    }
    for (int64_t from = begin; from < end; from += block) read_block(readers, count, from, from + block, room);
    for (int h = 0; h < TOGETHER; h++)
      for (int64_t i = 0; i < some; i++) write(&readers[i / SIDE][h], i % SIDE);
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

/* softmax(scale * factor * q k^T + mask) v beside one more logit of each query, `sink`; or with all heads' products
   read by a network, q scaled before. */
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
