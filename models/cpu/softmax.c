/* Softmax over rows, in place; `lines` (threads, columns) is what threads work with. */
#include "element.h"
#include "functions.h"

#ifdef _OPENMP
#include <omp.h>
#else
static inline int omp_get_thread_num(void) { return 0; }
#endif

#define WIDE 32 /* columns are rounded up to a multiple, which loops are fast with */

/* The powers of `line` less its greatest number, and their sum. */
static inline float powers(int64_t count, float *line, float greatest) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t n = 0; n < count; n++) sum += line[n] = power(line[n] - greatest);
  return sum;
}

/* Logits x become their softmax. `ends` (known, a divisor of the number of rows) says after how many columns all
   others are hidden. */
void forward(int64_t rows, int64_t columns, element *x, int64_t known, const int64_t *ends, int64_t threads,
             float *lines) {
#pragma omp parallel num_threads(threads) if (rows * columns > MANY)
  {
    float *line = lines + omp_get_thread_num() * columns;
#pragma omp for
    for (int64_t row = 0; row < rows; row++) {
      element *at = x + row * columns;
      int64_t end = ends[row % known], until = (end + WIDE - 1) / WIDE * WIDE;
      if (until > columns) until = columns;
      float greatest = -INFINITY;
      for (int64_t n = end; n < until; n++) at[n] = narrow(-INFINITY);
#pragma omp simd reduction(max : greatest)
      for (int64_t n = 0; n < until; n++) {
        line[n] = widen(at[n]);
        greatest = line[n] > greatest ? line[n] : greatest;
      }
      float share = 1 / powers(until, line, greatest);
#pragma omp simd
      for (int64_t n = 0; n < until; n++) at[n] = narrow(line[n] * share);
      memset(at + until, 0, (columns - until) * sizeof *at);
    }
  }
}

/* Logits x become the gradient of their cross-entropy; `likely` is the probability of each target, not a
   number where there is no such column. */
void cross_entropy(int64_t rows, int64_t columns, element *x, const int64_t *targets, float *likely,
                   int64_t threads, float *lines) {
#pragma omp parallel num_threads(threads) if (rows * columns > MANY)
  {
    float *line = lines + omp_get_thread_num() * columns;
#pragma omp for
    for (int64_t row = 0; row < rows; row++) {
      element *at = x + row * columns;
      float greatest = -INFINITY;
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
