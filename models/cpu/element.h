/* The numbers of tensors, float or bfloat16; all arithmetic is in float. */
#include <math.h>
#include <stdint.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#else
static inline int omp_get_thread_num(void) { return 0; }
#endif

#ifndef MANY
#define MANY 32768 /* numbers for which a second thread pays */
#endif

#ifdef BFLOAT16
typedef uint16_t element;

static inline float widen(element x) {
  uint32_t bits = (uint32_t)x << 16;
  float wide;
  memcpy(&wide, &bits, sizeof wide);
  return wide;
}

/* Round to the nearest, ties to even. NaN stays NaN, which rounding its bits might make infinite or 0. */
static inline element narrow(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x7fff + (bits >> 16 & 1)) | (x == x ? 0 : 0xffffffff);
  return bits >> 16;
}
#else
typedef float element;

static inline float widen(element x) { return x; }
static inline element narrow(float x) { return x; }
#endif

/* Return e^x for x <= 0, with 0 below 2^-127: 2^n 2^r, |r| <= 1/2, by a minimax polynomial (error 1.1e-7). */
static inline float exponential(float x) {
  float from = -88.029693f > x ? -88.029693f : x; /* in this order, NaN stays */
  float whole = from * 1.44269504f + 12583039.0f; /* its last bits are n + 127 */
  float r = from * 1.44269504f - (whole - 12583039.0f);
  float series = (((1.32647e-3f * r + 9.67151e-3f) * r + 5.550734e-2f) * r + 2.4022242e-1f) * r + 6.9314698e-1f;
  series = series * r + 1.0f;
  uint32_t bits;
  memcpy(&bits, &whole, sizeof bits);
  bits <<= 23;
  float scale;
  memcpy(&scale, &bits, sizeof scale);
  return scale * series;
}
