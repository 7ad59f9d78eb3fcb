/* GELU, whose slope is kept for the gradient. */
#include "element.h"
#include "functions.h"

#ifdef BFLOAT16
typedef int16_t slope; /* in steps of 2^-14, as a bfloat16 is too coarse near 1; the least: no number */

static inline slope keep(float x) {
  float from = x > -2.0f ? x : -2.0f;       /* where x is no number, too */
  float moved = from * 16384 + 12582912.0f; /* rounded to a whole number, which its last bits are */
  uint32_t bits;
  memcpy(&bits, &moved, sizeof bits);
  return (slope)(bits & 0xffff);
}

static inline float kept(slope x) { return x == INT16_MIN ? NAN : x * (1.0f / 16384); }
#else
typedef float slope;

static inline slope keep(float x) { return x; }
static inline float kept(slope x) { return x; }
#endif

/* y = x Phi(x) and its slope Phi(x) + x phi(x). The error function is a series in t that Abramowitz and Stegun
   give as 7.1.26, times the power that phi takes as well: its error is 1.5e-7. */
void forward(int64_t count, const element *x, element *y, slope *slopes) {
#pragma omp parallel for simd if (parallel : count > MANY)
  for (int64_t n = 0; n < count; n++) {
    float at = widen(x[n]), e = power(-0.5f * at * at), t = 1.0f / (1.0f + 0.3275911f * 0.70710678f * fabsf(at));
    float series = 1.061405429f;
    series = series * t - 1.453152027f;
    series = series * t + 1.421413741f;
    series = series * t - 0.284496736f;
    series = series * t + 0.254829592f;
    float tail = 0.5f * series * t * e, share = at > 0 ? 1.0f - tail : tail;
    y[n] = narrow(at * share);
    slopes[n] = keep(share + at * e * 0.39894228f);
  }
}

void backward(int64_t count, const element *g, const slope *slopes, element *to_x) {
#pragma omp parallel for simd if (parallel : count > MANY)
  for (int64_t n = 0; n < count; n++) to_x[n] = narrow(widen(g[n]) * kept(slopes[n]));
}
