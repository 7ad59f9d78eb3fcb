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

/* Two neighbours. As one word they take half the instructions. */
static inline void read_two(const element *from, float *first, float *second) {
#if defined BFLOAT16 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  uint32_t both, low, high;
  memcpy(&both, from, sizeof both);
  low = both << 16, high = both & 0xffff0000;
  memcpy(first, &low, sizeof low);
  memcpy(second, &high, sizeof high);
#else
  *first = widen(from[0]);
  *second = widen(from[1]);
#endif
}

static inline void write_two(float first, float second, element *to) {
#if defined BFLOAT16 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  uint32_t both = narrow(first) | (uint32_t)narrow(second) << 16;
  memcpy(to, &both, sizeof both);
#else
  to[0] = narrow(first);
  to[1] = narrow(second);
#endif
}
