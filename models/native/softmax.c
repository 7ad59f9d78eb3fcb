/* Softmax over rows, in place. Masks (masks, columns) are repeated over the rows; `ends` says for each of
   their rows after how many columns all others are hidden. */
#include "element.h"
#include "functions.h"

#define WIDE 32 /* `ends` are rounded up to a multiple, which loops are fast with */

/* The powers of `line` less its greatest number, and their sum. */
static inline float powers(int64_t count, float *line, float greatest) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t n = 0; n < count; n++) sum += line[n] = power(line[n] - greatest);
  return sum;
}

static inline int64_t rounded(int64_t end, int64_t columns) {
  end = (end + WIDE - 1) / WIDE * WIDE;
  return end < columns ? end : columns;
}

/* x becomes softmax(x + mask). */
void forward(int64_t rows, int64_t columns, element *x, int64_t masks, const float *mask, const int64_t *ends) {
#pragma omp parallel for if (rows * columns > MANY)
  for (int64_t row = 0; row < rows; row++) {
    int64_t which = row % masks, end = rounded(ends[which], columns);
    element *at = x + row * columns;
    const float *added = mask + which * columns;
    float line[columns], greatest = -INFINITY;
#pragma omp simd reduction(max : greatest)
    for (int64_t n = 0; n < end; n++) {
      line[n] = widen(at[n]) + added[n];
      greatest = line[n] > greatest ? line[n] : greatest;
    }
    float share = 1 / powers(end, line, greatest);
#pragma omp simd
    for (int64_t n = 0; n < end; n++) at[n] = narrow(line[n] * share);
    memset(at + end, 0, (columns - end) * sizeof *at);
  }
}

/* The gradient g of the weights p becomes that of the logits. */
void backward(int64_t rows, int64_t columns, const element *p, element *g, int64_t masks, const int64_t *ends) {
#pragma omp parallel for if (rows * columns > MANY)
  for (int64_t row = 0; row < rows; row++) {
    int64_t end = rounded(ends[row % masks], columns);
    const element *weights = p + row * columns;
    element *at = g + row * columns;
    float mean = 0;
#pragma omp simd reduction(+ : mean)
    for (int64_t n = 0; n < end; n++) mean += widen(weights[n]) * widen(at[n]);
#pragma omp simd
    for (int64_t n = 0; n < end; n++) at[n] = narrow(widen(weights[n]) * (widen(at[n]) - mean));
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
