/* DAPE at every pair of tokens: logits of HEADS heads, plus their biases, plus what a network of HIDDEN leaky
   units makes of both. Numbers lie in rows of `count` pairs, one for each head. The last weights of a unit
   (`inner`), and those behind the last unit (`outer`), stand alone. */
#include "element.h"
#include "vectors.h"

#define VECTORS (LANES == 16 ? 2 : 3) /* side by side: as many as registers hold */
#define INPUTS (2 * HEADS)
#define PAIRS (LANES * VECTORS) /* at a time */
#define SHARES 16               /* of the pairs, for threads */
#define UNSEEN -1e9f
#define EACH for (int v = 0; v < VECTORS; v++)

typedef uint32_t words __attribute__((vector_size(4 * LANES)));
typedef uint16_t halves __attribute__((vector_size(2 * LANES)));
typedef vector pairs[VECTORS];

static inline vector load(const element *from) {
#ifdef BFLOAT16
  halves x;
  memcpy(&x, from, sizeof x);
  return (vector)(__builtin_convertvector(x, words) << 16);
#else
  vector x;
  memcpy(&x, from, sizeof x);
  return x;
#endif
}

static inline void store(vector x, element *to) {
#ifdef BFLOAT16
  words bits = (words)x;
  halves y = __builtin_convertvector((bits + 0x7fff + (bits >> 16 & 1)) >> 16 | (words)(x != x), halves);
  memcpy(to, &y, sizeof y);
#else
  memcpy(to, &x, sizeof x);
#endif
}

/* Logits of all heads, or gradients of them, from `start` on; 0 behind `stop`. */
static inline void read(pairs *to, const element *const *from, int64_t start, int64_t stop) {
  for (int h = 0; h < HEADS; h++)
    if (stop - start >= PAIRS) {
      EACH to[h][v] = load(from[h] + start + v * LANES);
    } else {
      element last[PAIRS] = {0};
      memcpy(last, from[h] + start, (stop - start) * sizeof *last);
      EACH to[h][v] = load(last + v * LANES);
    }
}

static inline void write(pairs *from, element *const *to, int64_t start, int64_t stop) {
  for (int h = 0; h < HEADS; h++)
    if (stop - start >= PAIRS) {
      EACH store(from[h][v], to[h] + start + v * LANES);
    } else {
      element last[PAIRS];
      EACH store(from[h][v], last + v * LANES);
      memcpy(to[h] + start, last, (stop - start) * sizeof *last);
    }
}

static inline void read_bias(pairs *to, const float *const *from, int64_t start, int64_t stop) {
  memset(to, 0, HEADS * sizeof *to);
  for (int h = 0; h < HEADS; h++)
    if (stop - start >= PAIRS)
      memcpy(to[h], from[h] + start, sizeof(pairs));
    else
      memcpy(to[h], from[h] + start, (stop - start) * sizeof(float));
}

static inline void write_bias(pairs *from, float *const *to, int64_t start, int64_t stop) {
  for (int h = 0; h < HEADS; h++)
    if (stop - start >= PAIRS)
      memcpy(to[h] + start, from[h], sizeof(pairs));
    else
      memcpy(to[h] + start, from[h], (stop - start) * sizeof(float));
}

/* `positive` where x is, elsewhere `other`. */
static inline vector by_sign(vector x, vector positive, vector other) {
  LANE positive[n] = x[n] > 0 ? positive[n] : other[n];
  return positive;
}

static inline float total(vector parts) {
  float sum = 0;
  LANE sum += parts[n];
  return sum;
}

/* A unit before it leaks. */
static inline void unit(vector *u, pairs *x, const float *weights) {
  EACH u[v] = x[0][v] * weights[0] + weights[INPUTS];
  for (int i = 1; i < INPUTS; i++) EACH u[v] += x[i][v] * weights[i];
}

void forward(int64_t count, const element *const *logits, const float *const *bias,
             const float (*inner)[INPUTS + 1], const float (*outer)[HEADS], float leak /* < 1 */,
             element *const *out) {
#pragma omp parallel for if (count > MANY / 8)
  for (int64_t start = 0; start < count; start += PAIRS) {
    pairs x[INPUTS], y[HEADS], u;
    read(x, logits, start, count);
    read_bias(x + HEADS, bias, start, count);
    for (int h = 0; h < HEADS; h++)
      EACH {
        y[h][v] = x[h][v] + x[HEADS + h][v] + outer[HIDDEN][h];
        x[h][v] = greater((vector){0} + UNSEEN, x[h][v]);
      }
    for (int k = 0; k < HIDDEN; k++) {
      unit(u, x, inner[k]);
      EACH u[v] = greater(u[v], leak * u[v]);
      for (int h = 0; h < HEADS; h++) EACH y[h][v] += u[v] * outer[k][h];
    }
    write(y, out, start, count);
  }
}

/* The gradient of `out`, to logits and bias, and added to those of the weights, whose sums do not depend on
   the number of threads. */
void backward(int64_t count, const element *const *logits, const float *const *bias,
              const float (*inner)[INPUTS + 1], const float (*outer)[HEADS], float leak, const element *const *out,
              element *const *to_logits, float *const *to_bias, float (*to_inner)[INPUTS + 1],
              float (*to_outer)[HEADS]) {
  float inner_sums[SHARES][HIDDEN][INPUTS + 1], outer_sums[SHARES][HIDDEN + 1][HEADS];
  int64_t size = (count / SHARES / PAIRS + 1) * PAIRS;
#pragma omp parallel for if (count > MANY / 8)
  for (int share = 0; share < SHARES; share++) {
    int64_t stop = (share + 1) * size < count ? (share + 1) * size : count;
    vector inner_sum[HIDDEN][INPUTS + 1], outer_sum[HIDDEN + 1][HEADS];
    memset(inner_sum, 0, sizeof inner_sum);
    memset(outer_sum, 0, sizeof outer_sum);
    for (int64_t start = share * size; start < stop; start += PAIRS) {
      pairs x[INPUTS], g[HEADS], to_x[INPUTS], u, slope, to_u;
      read(x, logits, start, stop);
      read_bias(x + HEADS, bias, start, stop);
      read(g, out, start, stop);
      for (int h = 0; h < HEADS; h++)
        EACH {
          x[h][v] = greater((vector){0} + UNSEEN, x[h][v]);
          to_x[h][v] = to_x[HEADS + h][v] = g[h][v];
          outer_sum[HIDDEN][h] += g[h][v];
        }
      for (int k = 0; k < HIDDEN; k++) {
        unit(u, x, inner[k]);
        EACH {
          slope[v] = by_sign(u[v], (vector){0} + 1, (vector){0} + leak);
          u[v] *= slope[v];
          to_u[v] = g[0][v] * outer[k][0];
        }
        for (int h = 1; h < HEADS; h++) EACH to_u[v] += g[h][v] * outer[k][h];
        EACH to_u[v] *= slope[v];
        for (int i = 0; i < INPUTS; i++)
          EACH {
            to_x[i][v] += to_u[v] * inner[k][i];
            inner_sum[k][i] += x[i][v] * to_u[v];
          }
        EACH inner_sum[k][INPUTS] += to_u[v];
        for (int h = 0; h < HEADS; h++) EACH outer_sum[k][h] += g[h][v] * u[v];
      }
      for (int h = 0; h < HEADS; h++) /* a hidden logit is the same whatever it was */
        EACH to_x[h][v] = by_sign(x[h][v] - UNSEEN, to_x[h][v], g[h][v]);
      write(to_x, to_logits, start, stop);
      write_bias(to_x + HEADS, to_bias, start, stop);
    }
    for (int k = 0; k < HIDDEN; k++)
      for (int i = 0; i <= INPUTS; i++) inner_sums[share][k][i] = total(inner_sum[k][i]);
    for (int k = 0; k <= HIDDEN; k++)
      for (int h = 0; h < HEADS; h++) outer_sums[share][k][h] = total(outer_sum[k][h]);
  }
  for (int share = 0; share < SHARES; share++) {
    for (int k = 0; k < HIDDEN; k++)
      for (int i = 0; i <= INPUTS; i++) to_inner[k][i] += inner_sums[share][k][i];
    for (int k = 0; k <= HIDDEN; k++)
      for (int h = 0; h < HEADS; h++) to_outer[k][h] += outer_sums[share][k][h];
  }
}
