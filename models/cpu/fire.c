/* FIRE's bias of HEADS heads: a function of psi(i - j) / psi(i), with psi(x) = log(1 + |c x|), that is linear between
   UNITS bends. */
#include "element.h"

#define PAIRS 64 /* at a time */
#define EACH for (int n = 0; n < PAIRS; n++)

/* Return log(1 + x) for x >= 0: a series for the mantissa of 1 + x, plus a correction for the rounding of 1 + x. */
static inline float log1p_of(float x) {
  float whole = 1.0f + x;
  int32_t bits, exponent;
  memcpy(&bits, &whole, sizeof bits);
  exponent = (bits - 0x3f3504f3) >> 23; /* for a mantissa between sqrt(1/2) and sqrt(2) */
  bits -= exponent << 23;
  float mantissa;
  memcpy(&mantissa, &bits, sizeof mantissa);
  float once = 1.0f / ((mantissa + 1.0f) * whole);
  float s = (mantissa - 1.0f) * whole * once, z = s * s; /* log m = 2 artanh s */
  float series = ((2.0f / 9 * z + 2.0f / 7) * z + 2.0f / 5) * z + 2.0f / 3;
  float log = s * z * series + 2.0f * s;
  return exponent * 0.69314718f + (log + (x - (whole - 1.0f)) * (mantissa + 1.0f) * once);
}

/* Write the bias (HEADS, rows, keys) to `out` for queries at i, whose psi is `psi`, and keys at j. Between two bends,
   x lies on the line (level, slope) in `lines` (HEADS, UNITS + 1, 2). */
void bias(int64_t rows, int64_t keys, const float *i, const float *psi, const float *j, float c, const float *bends,
          const float (*steps)[UNITS], const float (*lines)[UNITS + 1][2], float *out) {
#pragma omp parallel for if (rows * keys > MANY)
  for (int64_t row = 0; row < rows; row++) {
    float at = i[row], share = 1 / psi[row];
    for (int64_t start = 0; start < keys; start += PAIRS) {
      int64_t count = keys - start < PAIRS ? keys - start : PAIRS;
      float key[PAIRS], x[PAIRS], y[HEADS][PAIRS], lowest = INFINITY, highest = -INFINITY;
      EACH key[n] = j[start + (n < count ? n : count - 1)];
#pragma omp simd reduction(min : lowest) reduction(max : highest)
      EACH {
        x[n] = log1p_of(fabsf(c * (at - key[n]))) * share;
        lowest = x[n] < lowest ? x[n] : lowest;
        highest = x[n] > highest ? x[n] : highest;
      }
      int before = 0, until = 0;
#pragma omp simd reduction(+ : before, until)
      for (int u = 0; u < UNITS; u++) {
        before += bends[u] <= lowest;
        until += bends[u] < highest;
      }
      for (int h = 0; h < HEADS; h++) EACH y[h][n] = lines[h][before][0] + lines[h][before][1] * x[n];
      for (int u = before; u < until; u++)
        for (int h = 0; h < HEADS; h++) EACH y[h][n] += steps[h][u] * (x[n] > bends[u] ? x[n] - bends[u] : 0);
      for (int h = 0; h < HEADS; h++) memcpy(out + (h * rows + row) * keys + start, y[h], count * sizeof(float));
    }
  }
}
