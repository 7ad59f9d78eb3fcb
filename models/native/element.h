/* Numbers as tensors hold them, float or bfloat16; all arithmetic is done in float. */
#include <math.h>
#include <stdint.h>
#include <string.h>

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

/* To the nearest, ties to even. */
static inline element narrow(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
#else
typedef float element;

static inline float widen(element x) { return x; }
static inline element narrow(float x) { return x; }
#endif
