/* RMSNorm of rows of floats. */
#include "element.h"

#define SHARES 16 /* parts of the rows, for threads */

/* Compute y = gain x / sqrt(mean x^2 + epsilon), and write the factor of each row to `scale`. */
void forward(int64_t rows, int64_t columns, const float *x, const float *gain, float epsilon, float *scale,
             element *y) {
#pragma omp parallel for if (rows * columns > MANY)
  for (int64_t row = 0; row < rows; row++) {
    const float *at = x + row * columns;
    float squares = 0;
#pragma omp simd reduction(+ : squares)
    for (int64_t n = 0; n < columns; n++) squares += at[n] * at[n];
    float factor = scale[row] = 1 / sqrtf(squares / columns + epsilon);
#pragma omp simd
    for (int64_t n = 0; n < columns; n++) y[row * columns + n] = narrow(at[n] * factor * gain[n]);
  }
}

/* Write the gradient of x, from that of y, g; add the gradient of the gain to `to_gain`. The `sums` (SHARES, columns)
   begin as zeros and do not depend on the number of threads. */
void backward(int64_t rows, int64_t columns, const float *x, const float *gain, const float *scale,
              const element *g, float *to_x, float *to_gain, float *sums) {
#pragma omp parallel for if (rows * columns > MANY)
  for (int64_t share = 0; share < SHARES; share++)
    for (int64_t row = rows * share / SHARES; row < rows * (share + 1) / SHARES; row++) {
      const float *at = x + row * columns;
      const element *from = g + row * columns;
      float factor = scale[row], mean = 0, *sum = sums + share * columns;
#pragma omp simd reduction(+ : mean)
      for (int64_t n = 0; n < columns; n++) mean += widen(from[n]) * gain[n] * at[n];
      mean *= factor * factor / columns;
#pragma omp simd
      for (int64_t n = 0; n < columns; n++) {
        float wide = widen(from[n]);
        sum[n] += wide * at[n] * factor;
        to_x[row * columns + n] = factor * (wide * gain[n] - at[n] * mean);
      }
    }
  for (int64_t share = 0; share < SHARES; share++)
    for (int64_t n = 0; n < columns; n++) to_gain[n] += sums[share * columns + n];
}
