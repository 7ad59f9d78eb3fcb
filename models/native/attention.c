/* Softmax attention, whose logits never leave the processor's cache. */
#include "attention.h"
#include "functions.h"

#define BLOCK 1024 /* keys at a time */
#define GROUP 8    /* times SIDE queries that read them one after another */

/* Some queries of a head, and what they have read so far. */
typedef struct {
  Queries some;
  const operand *q;
  float *read, greatest[SIDE], sum[SIDE];
} Reader;

/* What a thread works with. */
typedef struct {
  operand *keys, *values, *q, *weights;
  float *logits, *read;
  int64_t deep, wide, all, gap; /* sizes rounded up; numbers from one line of weights to the next */
} Room;

/* Products x become logits in units of ln(2), less `level`: scale * factor * x + mask. The greatest, or `greatest`. */
static inline float scored(int64_t count, float *x, float scale, const float *factor, const float *mask, float level,
                           float greatest) {
  if (factor) {
#pragma omp simd reduction(max : greatest)
    for (int64_t n = 0; n < count; n++) {
      x[n] = x[n] * (scale * factor[n]) + (LOG2E * mask[n] - level);
      greatest = x[n] > greatest ? x[n] : greatest;
    }
  } else if (mask) {
#pragma omp simd reduction(max : greatest)
    for (int64_t n = 0; n < count; n++) {
      x[n] = x[n] * scale + (LOG2E * mask[n] - level);
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

/* Logits x become powers of 2, the greatest of which is 1. Their sum. */
static inline float powers(int64_t count, float *x, float greatest) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t n = 0; n < count; n++) sum += x[n] = two_to(x[n] - greatest);
  return sum;
}

/* The products x of query i and `columns` keys from `start` on become its weights. */
static void weigh(Head own, Reader *r, int64_t i, int64_t start, int64_t columns, float *x, operand *to) {
  const Attention *of = own.of;
  int64_t query = r->some.first + i, end = of->before + query + 1, seen = least(start + columns, of->keys) - start;
  if (of->causal) seen = most(0, least(seen, end - start));
  const float *factor = line(own, &of->factor, query), *mask = line(own, &of->mask, query);
  int64_t count = up(seen), known = mask ? least(count, of->keys - start) : count;
  int64_t shown = factor ? known : seen; /* beside a factor, a mask hides all that is hidden */
  float *last = x + most(0, count - SIDE);
  for (int64_t n = 0, left = shown - (last - x); n < SIDE; n++) last[n] = n < left ? last[n] : -INFINITY;
  if (of->window && !factor)
    for (int64_t n = 0; n < least(count, end - of->window - start); n++) x[n] = -INFINITY;
  float before = r->greatest[i], scale = of->scale * LOG2E;
  float level = mask && !of->mask.strides[2] ? LOG2E * mask[end - 1] : 0; /* the query's own key is at 0 */
  level = level == -INFINITY ? 0 : level;
  float greatest = scored(known, x, scale, factor ? factor + start : NULL, mask ? mask + start : NULL, level, before);
  float base = greatest == -INFINITY ? 0 : greatest, less = two_to(before - base), sum = powers(count, x, base);
  int64_t wide = up(of->width);
  float *read = r->read + i * wide;
  if (greatest > before)
    for (int64_t d = 0; d < wide; d++) read[d] *= less;
  r->greatest[i] = greatest;
  r->sum[i] = of->kept.at ? 1 : r->sum[i] * less + sum;
  lower(count, x, of->kept.at ? 1 / sum : 1, to);
  for (int64_t n = count; n < columns; n++) to[n] = 0;
  if (of->kept.at) store(columns, to, row(own, &of->kept, query) + start);
}

/* What all queries of a group read from a block of keys. */
static void read_block(Head own, Reader *readers, int64_t count, int64_t from, int64_t until, const Room *room) {
  Right keys = right(room->keys, room->deep), values = right(room->values, room->all);
  for (Reader *r = readers; r < readers + count; r++) {
    int64_t start = most(from, r->some.begin), columns = up(least(until, r->some.end) - start), rows = r->some.count;
    if (columns <= 0) continue;
    multiply(rows, columns, room->deep, r->q, room->deep, corner(keys, 0, start), room->logits, room->gap, 0);
    for (int64_t i = 0; i < rows; i++)
      weigh(own, r, i, start, columns, room->logits + i * room->gap, room->weights + i * room->gap);
    multiply(rows, room->wide, columns, room->weights, room->gap, corner(values, start, 0), r->read, room->wide, 1);
  }
}

/* What query i has read, beside one more logit. */
static void write(Head own, const Reader *r, int64_t i) {
  float greatest = r->greatest[i], share = 1 / r->sum[i];
  const float *sink = line(own, &own.of->sink, r->some.first + i);
  if (sink) {
    float last = *sink * LOG2E, top = last > greatest ? last : greatest, less = two_to(greatest - top);
    share = less / (r->sum[i] * less + two_to(last - top));
  }
  int64_t width = own.of->width;
  const float *read = r->read + i * up(width);
  element *to = row(own, &own.of->out, r->some.first + i);
#pragma omp simd
  for (int64_t d = 0; d < width; d++) to[d] = narrow(read[d] * share);
}

/* All queries of one part of a head. */
static void read_head(Head own, int64_t part, int64_t group, int64_t block, const Room *room) {
  const Attention *of = own.of;
  Reader readers[GROUP];
  across_right(of->keys, of->inner, row(own, &of->k, 0), of->k.strides[2], room->keys, room->deep);
  as_right(of->keys, of->width, row(own, &of->v, 0), of->v.strides[2], room->values, room->all);
  for (int64_t first = part * group; first < of->queries; first += of->parts * group) {
    int64_t count = 0, begin = of->keys, end = 0, some = least(group, of->queries - first);
    as_left(some, of->inner, row(own, &of->q, first), of->q.strides[2], room->q, room->deep);
    memset(room->read, 0, group * room->wide * sizeof *room->read);
    for (; count * SIDE < some; count++) {
      int64_t n = count * SIDE;
      Reader *r = readers + count;
      *r = (Reader){queries(of, first + n), room->q + n * room->deep, room->read + n * room->wide};
      for (int i = 0; i < SIDE; i++) r->greatest[i] = -INFINITY;
      begin = least(begin, r->some.begin), end = most(end, r->some.end);
    }
    for (int64_t from = begin; from < end; from += block) read_block(own, readers, count, from, from + block, room);
    for (int64_t i = 0; i < some; i++) write(own, readers + i / SIDE, i % SIDE);
  }
}

/* softmax(scale * factor * q k^T + mask) v beside one more logit of each query, `sink`. */
void forward(const Attention *of) {
  int64_t deep = up(of->inner), wide = up(of->width), all = up(of->keys);
  int64_t block = of->kept.at ? all : least(all, BLOCK), gap = block + GAP;
  int64_t group = of->kept.at ? SIDE : least(up(of->queries), GROUP * SIDE);
#pragma omp parallel if (of->sequences * of->heads * of->queries * of->keys > MANY)
  {
    Room room = {
        zeros(all * deep, sizeof(operand)),   zeros(all * wide, sizeof(operand)),
        zeros(group * deep, sizeof(operand)), zeros(SIDE * gap, sizeof(operand)),
        zeros(SIDE * gap, sizeof(float)),     zeros(group * wide, sizeof(float)),
        deep, wide, all, gap,
    };
    begin_products();
#pragma omp for collapse(3)
    for (int64_t b = 0; b < of->sequences; b++)
      for (int64_t h = 0; h < of->heads; h++)
        for (int64_t part = 0; part < of->parts; part++) read_head((Head){of, b, h}, part, group, block, &room);
    end_products();
    free(room.keys), free(room.values), free(room.q), free(room.weights), free(room.logits), free(room.read);
  }
}
