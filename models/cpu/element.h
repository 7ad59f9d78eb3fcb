/* Numbers as tensors hold them, float or bfloat16; all arithmetic is done in float. */
#include <math.h>
#include <stdint.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#else
static inline int omp_get_thread_num(void) { return 0; }
#endif

#ifndef MANY
#define MANY 32768 /* numbers that are worth a second thread */
#endif

#ifdef BFLOAT16
typedef uint16_t element;

static inline float widen(element x) {
  uint32_t bits = (uint32_t)x << 16;
  float wide;
  memcpy(&wide, &bits, sizeof wide);
  return wide;
}

/* To the nearest, ties to even. What is no number stays so, where rounding might make it infinite or 0. */
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

/* e^x for x <= 0 and 0 from 2^-127 on: 2^n 2^r, |r| <= 1/2, by the polynomial of degree 5 whose greatest
   error, 1.1e-7, is smallest. */
static inline float weight(float x) {
  float from = -88.029693f > x ? -88.029693f : x; /* which keeps what is not a number */
  float whole = from * 1.44269504f + 12583039.0f; /* whose last bits are n + 127 */
  float r = from * 1.44269504f - (whole - 12583039.0f);
  float series = 1.32647e-3f;
  series = series * r + 9.67151e-3f;
  series = series * r + 5.550734e-2f;
  series = series * r + 2.4022242e-1f;
  series = series * r + 6.9314698e-1f;
  series = series * r + 1.0f;
  uint32_t bits;
  memcpy(&bits, &whole, sizeof bits);
  bits <<= 23;
  float scale;
  memcpy(&scale, &bits, sizeof scale);
  return scale * series;
}
