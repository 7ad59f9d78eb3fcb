/* Elementary functions of floats as arithmetic that compilers turn into vectors. */
#include <math.h>
#include <stdint.h>
#include <string.h>

/* e^x for x <= 0, and 0 below e^-87: 2^n e^r, |r| <= ln(2) / 2, by the Taylor series of e^r, whose error of
   1.2e-7 is that of a float. */
static inline float power(float x) {
  float from = x < -87.0f ? -87.0f : x;
  float n = from * 1.44269504f + 12582912.0f - 12582912.0f; /* rounded to a whole number */
  float r = from - n * 0.693359375f + n * 2.12194440e-4f;   /* ln(2) in two parts */
  float series = 1.0f / 5040;
  series = series * r + 1.0f / 720;
  series = series * r + 1.0f / 120;
  series = series * r + 1.0f / 24;
  series = series * r + 1.0f / 6;
  series = series * r + 0.5f;
  series = series * r * r + r + 1.0f;
  int32_t bits = ((int32_t)n + 127) << 23;
  float scale;
  memcpy(&scale, &bits, sizeof scale);
  return x < -87.0f ? 0.0f : scale * series;
}

/* log(1 + x) of x >= 0: of the mantissa of 1 + x by a series of its distance from 1, and what 1 + x rounds off. */
static inline float log1p_of(float x) {
  float whole = 1.0f + x;
  int32_t bits, exponent;
  memcpy(&bits, &whole, sizeof bits);
  exponent = (bits - 0x3f3504f3) >> 23; /* so that the mantissa is between sqrt(1/2) and sqrt(2) */
  bits -= exponent << 23;
  float mantissa;
  memcpy(&mantissa, &bits, sizeof mantissa);
  float once = 1.0f / ((mantissa + 1.0f) * whole);
  float s = (mantissa - 1.0f) * whole * once, z = s * s; /* log m = 2 artanh s */
  float series = 2.0f / 9;
  series = series * z + 2.0f / 7;
  series = series * z + 2.0f / 5;
  series = series * z + 2.0f / 3;
  float log = s * z * series + 2.0f * s;
  return exponent * 0.69314718f + (log + (x - (whole - 1.0f)) * (mantissa + 1.0f) * once);
}

/* e^x for x <= 0, a weight, and 0 from 2^-127 on: 2^n 2^r, |r| <= 1/2, by the polynomial of degree 5 whose greatest
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
