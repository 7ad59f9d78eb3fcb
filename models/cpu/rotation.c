/* Rotation of pairs of features of x (B, H, T, D), whose strides are counted in numbers. */
#include "element.h"

/* The first 2F features of each token rotated by angles (B, H, T, F), which have strides of their own; the
   rest is copied. `sign` -1 rotates back. */
void rotate(int64_t sequences, int64_t heads, int64_t tokens, int64_t width, int64_t pairs, int64_t half,
            const element *x, const int64_t *x_strides, const float *cos, const float *sin,
            const int64_t *strides, float sign, element *out) {
#pragma omp parallel for collapse(2) if (sequences * heads * tokens * width > MANY)
  for (int64_t b = 0; b < sequences; b++)
    for (int64_t h = 0; h < heads; h++)
      for (int64_t t = 0; t < tokens; t++) {
        const element *from = x + b * x_strides[0] + h * x_strides[1] + t * x_strides[2];
        element *to = out + ((b * heads + h) * tokens + t) * width;
        int64_t angle = b * strides[0] + h * strides[1] + t * strides[2];
        const float *c = cos + angle, *s = sin + angle;
        if (half) {
#pragma omp simd
          for (int64_t f = 0; f < pairs; f++) {
            float a = widen(from[f]), z = widen(from[pairs + f]);
            to[f] = narrow(a * c[f] - sign * z * s[f]);
            to[pairs + f] = narrow(sign * a * s[f] + z * c[f]);
          }
        } else {
#pragma omp simd
          for (int64_t f = 0; f < pairs; f++) {
            float a, z;
            read_two(from + 2 * f, &a, &z);
            write_two(a * c[f] - sign * z * s[f], sign * a * s[f] + z * c[f], to + 2 * f);
          }
        }
        memcpy(to + 2 * pairs, from + 2 * pairs, (width - 2 * pairs) * sizeof *to);
      }
}

/* What the gradient g of the rotated x is to the cosines and sines (B, H, T, F) of all angles. */
void to_angles(int64_t sequences, int64_t heads, int64_t tokens, int64_t pairs, int64_t half, const element *x,
               const int64_t *x_strides, const element *g, const int64_t *g_strides, float *to_cos,
               float *to_sin) {
  int64_t step = half ? 1 : 2, other = half ? pairs : 1;
#pragma omp parallel for collapse(2) if (sequences * heads * tokens * pairs > MANY)
  for (int64_t b = 0; b < sequences; b++)
    for (int64_t h = 0; h < heads; h++)
      for (int64_t t = 0; t < tokens; t++) {
        const element *from = x + b * x_strides[0] + h * x_strides[1] + t * x_strides[2];
        const element *of = g + b * g_strides[0] + h * g_strides[1] + t * g_strides[2];
        int64_t angle = ((b * heads + h) * tokens + t) * pairs;
#pragma omp simd
        for (int64_t f = 0; f < pairs; f++) {
          float a = widen(from[step * f]), z = widen(from[step * f + other]);
          float to_a = widen(of[step * f]), to_z = widen(of[step * f + other]);
          to_cos[angle + f] = to_a * a + to_z * z;
          to_sin[angle + f] = to_z * a - to_a * z;
        }
      }
}
