/* The softplus of features x (B, H, T, D) as radii at angles; strides are counted in numbers. */
#include "element.h"
#include "functions.h"

#define TOKENS 64 /* of all sequences by one thread, which adds up what angles get from them */

/* log(1 + e^x), and its slope 1 / (1 + e^-x). */
static inline float softplus(float x, float *slope) {
  float u = power(-fabsf(x));                   /* of log(1 + u) = 2 artanh s, s = u / (2 + u) <= 1 / 3 */
  float once = 1.0f / ((1.0f + u) * (2.0f + u)); /* for both */
  float s = u * (1.0f + u) * once, z = s * s;
  float series = 2.0f / 13;
  series = series * z + 2.0f / 11;
  series = series * z + 2.0f / 9;
  series = series * z + 2.0f / 7;
  series = series * z + 2.0f / 5;
  series = series * z + 2.0f / 3;
  *slope = (x > 0 ? 1.0f : u) * (2.0f + u) * once;
  return (x > 0 ? x : 0.0f) + (s * z * series + 2.0f * s);
}

/* `out` (B, H, T, 2D): radius times cosine and radius times sine of each feature. */
void polar(int64_t sequences, int64_t heads, int64_t tokens, int64_t width, const element *x,
           const int64_t *x_strides, const float *cos, const float *sin, const int64_t *strides, element *out) {
#pragma omp parallel for collapse(2) if (sequences * heads * tokens * width > MANY)
  for (int64_t b = 0; b < sequences; b++)
    for (int64_t h = 0; h < heads; h++)
      for (int64_t t = 0; t < tokens; t++) {
        const element *from = x + b * x_strides[0] + h * x_strides[1] + t * x_strides[2];
        element *to = out + ((b * heads + h) * tokens + t) * 2 * width;
        int64_t angle = b * strides[0] + h * strides[1] + t * strides[2];
        const float *c = cos + angle, *s = sin + angle;
#pragma omp simd
        for (int64_t f = 0; f < width; f++) {
          float slope, radius = softplus(widen(from[f]), &slope);
          write_two(radius * c[f], radius * s[f], to + 2 * f);
        }
      }
}

/* From the gradient g of `out` that of x, `to_x` (B, H, T, D), and if the angles are learned those of their
   cosines and sines (B if `own`, H, T, D), which are added. */
void backward(int64_t sequences, int64_t heads, int64_t tokens, int64_t width, const element *x,
              const int64_t *x_strides, const float *cos, const float *sin, const int64_t *strides,
              const element *g, const int64_t *g_strides, element *to_x, int64_t learned, int64_t own,
              float *to_cos, float *to_sin) {
#pragma omp parallel for collapse(2) if (sequences * heads * tokens * width > MANY)
  for (int64_t h = 0; h < heads; h++)
    for (int64_t part = 0; part < tokens; part += TOKENS)
      for (int64_t b = 0; b < sequences; b++)
        for (int64_t t = part; t < tokens && t < part + TOKENS; t++) {
          const element *from = x + b * x_strides[0] + h * x_strides[1] + t * x_strides[2];
          const element *of = g + b * g_strides[0] + h * g_strides[1] + t * g_strides[2];
          element *to = to_x + ((b * heads + h) * tokens + t) * width;
          int64_t angle = b * strides[0] + h * strides[1] + t * strides[2];
          int64_t sum = learned ? (((own ? b : 0) * heads + h) * tokens + t) * width : 0;
          const float *c = cos + angle, *s = sin + angle;
#pragma omp simd
          for (int64_t f = 0; f < width; f++) {
            float slope, along, up, radius = softplus(widen(from[f]), &slope);
            read_two(of + 2 * f, &along, &up);
            to[f] = narrow(slope * (along * c[f] + up * s[f]));
            if (learned) {
              to_cos[sum + f] += radius * along;
              to_sin[sum + f] += radius * up;
            }
          }
        }
}
