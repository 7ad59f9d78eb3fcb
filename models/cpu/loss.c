/* Cross-entropy of rows of logits; `lines` (threads, columns) is the memory of the threads. */
#include "element.h"

/* Return the greatest number of a row. */
static inline float greatest_of(int64_t count, const element *x) {
  float greatest = -INFINITY;
#pragma omp simd reduction(max : greatest)
  for (int64_t n = 0; n < count; n++) greatest = widen(x[n]) > greatest ? widen(x[n]) : greatest;
  return greatest;
}

/* Turn logits x into the gradient of their cross-entropy; write the probability of each target to `likely`, NaN if
   there is no such column. */
void cross_entropy(int64_t rows, int64_t columns, element *x, const int64_t *targets, float *likely,
                   int64_t threads, float *lines) {
#pragma omp parallel num_threads(threads) if (rows * columns > MANY)
  {
    float *line = lines + omp_get_thread_num() * columns;
#pragma omp for
    for (int64_t row = 0; row < rows; row++) {
      element *at = x + row * columns;
      float greatest = greatest_of(columns, at), sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t n = 0; n < columns; n++) sum += line[n] = exponential(widen(at[n]) - greatest);
      float share = 1 / sum;
#pragma omp simd
      for (int64_t n = 0; n < columns; n++) at[n] = narrow(line[n] * share);
      likely[row] = NAN;
      if ((uint64_t)targets[row] < (uint64_t)columns) {
        likely[row] = line[targets[row]] * share;
        at[targets[row]] = narrow(likely[row] - 1);
      }
    }
  }
}

/* Write the logarithm of the probability of each target to `log_likely`. */
void log_likelihood(int64_t rows, int64_t columns, const element *x, const int64_t *targets, float *log_likely) {
#pragma omp parallel for if (rows * columns > MANY)
  for (int64_t row = 0; row < rows; row++) {
    const element *at = x + row * columns;
    float greatest = greatest_of(columns, at), sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t n = 0; n < columns; n++) sum += exponential(widen(at[n]) - greatest);
    int known = (uint64_t)targets[row] < (uint64_t)columns;
    log_likely[row] = known ? widen(at[targets[row]]) - greatest - logf(sum) : NAN;
  }
}
