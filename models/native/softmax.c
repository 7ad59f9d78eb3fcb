/* Softmax over rows, in place. */
#include "element.h"
#include "functions.h"
#include <stdlib.h>

#define WIDE 32 /* columns are rounded up to a multiple, which loops are fast with */

/* The powers of `line` less its greatest number, and their sum. */
static inline float powers(int64_t count, float *line, float greatest) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t n = 0; n < count; n++) sum += line[n] = power(line[n] - greatest);
  return sum;
}

static inline int64_t offset(const int64_t *strides, int64_t b, int64_t h, int64_t r) {
  return b * strides[0] + h * strides[1] + r * strides[2];
}

static inline int64_t rounded(int64_t end, int64_t columns) {
  end = (end + WIDE - 1) / WIDE * WIDE;
  return end < columns ? end : columns;
}

/* Logits x (B, H, R, K) become softmax(scale * factor * x + mask) beside one more logit of each query, `sink`.
   Factor, mask and sink are null or have strides between sequences, heads and queries. `ends` (known, a divisor
   of the number of rows) says after how many columns all others are hidden. */
void forward(int64_t sequences, int64_t heads, int64_t queries, int64_t columns, element *x, float scale,
             const float *factors, const int64_t *factor_strides, const float *masks, const int64_t *mask_strides,
             const float *sinks, const int64_t *sink_strides, int64_t known, const int64_t *ends) {
#pragma omp parallel if (sequences * heads * queries * columns > MANY)
  {
    float *line = malloc(columns * sizeof *line);
#pragma omp for collapse(3)
    for (int64_t b = 0; b < sequences; b++)
      for (int64_t h = 0; h < heads; h++)
        for (int64_t r = 0; r < queries; r++) {
          int64_t row = (b * heads + h) * queries + r, end = ends[row % known], until = rounded(end, columns);
          element *at = x + row * columns;
          float greatest = -INFINITY, last = 0;
          if (masks) {
            const float *mask = masks + offset(mask_strides, b, h, r);
            if (factors) {
              const float *factor = factors + offset(factor_strides, b, h, r);
#pragma omp simd reduction(max : greatest)
              for (int64_t n = 0; n < until; n++) {
                line[n] = widen(at[n]) * (scale * factor[n]) + mask[n];
                greatest = line[n] > greatest ? line[n] : greatest;
              }
            } else {
#pragma omp simd reduction(max : greatest)
              for (int64_t n = 0; n < until; n++) {
                line[n] = widen(at[n]) * scale + mask[n];
                greatest = line[n] > greatest ? line[n] : greatest;
              }
            }
          } else {
            for (int64_t n = end; n < until; n++) at[n] = narrow(-INFINITY);
#pragma omp simd reduction(max : greatest)
            for (int64_t n = 0; n < until; n++) {
              line[n] = widen(at[n]) * scale;
              greatest = line[n] > greatest ? line[n] : greatest;
            }
          }
          if (sinks) {
            float sink = sinks[offset(sink_strides, b, h, r)];
            greatest = sink > greatest ? sink : greatest;
            last = power(sink - greatest);
          }
          float share = 1 / (powers(until, line, greatest) + last);
#pragma omp simd
          for (int64_t n = 0; n < until; n++) at[n] = narrow(line[n] * share);
          memset(at + until, 0, (columns - until) * sizeof *at);
        }
    free(line);
  }
}

/* The gradient g of the weights p becomes that of the logits, which have no factors; `ends` as above. */
void backward(int64_t rows, int64_t columns, const element *p, element *g, float scale, int64_t known,
              const int64_t *ends) {
#pragma omp parallel for if (rows * columns > MANY)
  for (int64_t row = 0; row < rows; row++) {
    int64_t end = rounded(ends[row % known], columns);
    const element *weights = p + row * columns;
    element *at = g + row * columns;
    float mean = 0;
#pragma omp simd reduction(+ : mean)
    for (int64_t n = 0; n < end; n++) mean += widen(weights[n]) * widen(at[n]);
#pragma omp simd
    for (int64_t n = 0; n < end; n++) at[n] = narrow(scale * widen(weights[n]) * (widen(at[n]) - mean));
    memset(at + end, 0, (columns - end) * sizeof *at);
  }
}

/* Logits x become the gradient of their cross-entropy; `likely` is the probability of each target, not a
   number where there is no such column. */
void cross_entropy(int64_t rows, int64_t columns, element *x, const int64_t *targets, float *likely) {
#pragma omp parallel for if (rows * columns > MANY)
  for (int64_t row = 0; row < rows; row++) {
    element *at = x + row * columns;
    float line[columns], greatest = -INFINITY;
#pragma omp simd reduction(max : greatest)
    for (int64_t n = 0; n < columns; n++) {
      line[n] = widen(at[n]);
      greatest = line[n] > greatest ? line[n] : greatest;
    }
    float share = 1 / powers(columns, line, greatest);
#pragma omp simd
    for (int64_t n = 0; n < columns; n++) at[n] = narrow(line[n] * share);
    if ((uint64_t)targets[row] < (uint64_t)columns) {
      likely[row] = line[targets[row]] * share;
      at[targets[row]] = narrow(likely[row] - 1);
    } else {
      likely[row] = NAN;
    }
  }
}

/* The logarithm of the probability of each target. */
void log_likelihood(int64_t rows, int64_t columns, const element *x, const int64_t *targets, float *log_likely) {
#pragma omp parallel for if (rows * columns > MANY)
  for (int64_t row = 0; row < rows; row++) {
    const element *at = x + row * columns;
    float greatest = -INFINITY, sum = 0;
#pragma omp simd reduction(max : greatest)
    for (int64_t n = 0; n < columns; n++) greatest = widen(at[n]) > greatest ? widen(at[n]) : greatest;
#pragma omp simd reduction(+ : sum)
    for (int64_t n = 0; n < columns; n++) sum += power(widen(at[n]) - greatest);
    int known = (uint64_t)targets[row] < (uint64_t)columns;
    log_likely[row] = known ? widen(at[targets[row]]) - greatest - logf(sum) : NAN;
  }
}
