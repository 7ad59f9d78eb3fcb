/* DAPE at every pair of tokens: logits of HEADS heads, plus their biases, plus what a network of HIDDEN leaky
   units makes of both. Numbers lie in rows of `count` pairs, one for each head. */
#include "element.h"

#define PAIRS 32  /* at a time, in registers */
#define PARTS 16  /* of a sum over pairs, so that terms are added side by side */
#define SHARES 16 /* of the pairs, for threads */
#define UNSEEN -1e9f
#define EACH for (int n = 0; n < PAIRS; n++)

typedef float pairs[PAIRS];

static inline void read(pairs *to, const element *const *from, int64_t start, int64_t stop) {
  for (int h = 0; h < HEADS; h++)
    if (stop - start >= PAIRS)
      EACH to[h][n] = widen(from[h][start + n]);
    else
      EACH to[h][n] = start + n < stop ? widen(from[h][start + n]) : 0;
}

static inline void read_wide(pairs *to, const float *const *from, int64_t start, int64_t stop) {
  for (int h = 0; h < HEADS; h++)
    if (stop - start >= PAIRS)
      EACH to[h][n] = from[h][start + n];
    else
      EACH to[h][n] = start + n < stop ? from[h][start + n] : 0;
}

static inline void write(const pairs *from, element *const *to, int64_t start, int64_t stop) {
  for (int h = 0; h < HEADS; h++)
    if (stop - start >= PAIRS)
      EACH to[h][start + n] = narrow(from[h][n]);
    else
      EACH if (start + n < stop) to[h][start + n] = narrow(from[h][n]);
}

static inline void write_wide(const pairs *from, float *const *to, int64_t start, int64_t stop) {
  for (int h = 0; h < HEADS; h++)
    if (stop - start >= PAIRS)
      EACH to[h][start + n] = from[h][n];
    else
      EACH if (start + n < stop) to[h][start + n] = from[h][n];
}

/* A unit of the network: the last of its weights stands alone. */
static inline void unit(float *u, const pairs *seen, const pairs *bias, const float *weights) {
  EACH u[n] = weights[2 * HEADS];
  for (int h = 0; h < HEADS; h++) EACH u[n] += weights[h] * seen[h][n] + weights[HEADS + h] * bias[h][n];
}

static inline float total(const float *parts) {
  float sum = 0;
  for (int n = 0; n < PARTS; n++) sum += parts[n];
  return sum;
}

void forward(int64_t count, const element *const *logits, const float *const *bias,
             const float (*inner)[2 * HEADS + 1], const float (*outer)[HEADS], const float *level, float leak,
             element *const *out) {
#pragma omp parallel for if (count > MANY / 8)
  for (int64_t start = 0; start < count; start += PAIRS) {
    pairs x[HEADS], seen[HEADS], b[HEADS], y[HEADS], u;
    read(x, logits, start, count);
    read_wide(b, bias, start, count);
    for (int h = 0; h < HEADS; h++) {
      EACH seen[h][n] = x[h][n] > UNSEEN ? x[h][n] : UNSEEN;
      EACH y[h][n] = x[h][n] + b[h][n] + level[h];
    }
    for (int k = 0; k < HIDDEN; k++) {
      unit(u, (const pairs *)seen, (const pairs *)b, inner[k]);
      EACH u[n] = u[n] > 0 ? u[n] : leak * u[n];
      for (int h = 0; h < HEADS; h++) EACH y[h][n] += outer[k][h] * u[n];
    }
    write((const pairs *)y, out, start, count);
  }
}

/* The gradient of `out`, to logits and bias, and added to those of the weights, whose sums do not depend on
   the number of threads. */
void backward(int64_t count, const element *const *logits, const float *const *bias,
              const float (*inner)[2 * HEADS + 1], const float (*outer)[HEADS], float leak,
              const element *const *out, element *const *to_logits, float *const *to_bias,
              float (*to_inner)[2 * HEADS + 1], float (*to_outer)[HEADS]) {
  float inner_sums[SHARES][HIDDEN][2 * HEADS + 1], outer_sums[SHARES][HIDDEN][HEADS];
  int64_t size = (count / SHARES / PAIRS + 1) * PAIRS;
#pragma omp parallel for if (count > MANY / 8)
  for (int share = 0; share < SHARES; share++) {
    int64_t stop = (share + 1) * size < count ? (share + 1) * size : count;
    float inner_sum[HIDDEN][2 * HEADS + 1][PARTS], outer_sum[HIDDEN][HEADS][PARTS];
    memset(inner_sum, 0, sizeof inner_sum);
    memset(outer_sum, 0, sizeof outer_sum);
    for (int64_t start = share * size; start < stop; start += PAIRS) {
      pairs x[HEADS], b[HEADS], g[HEADS], to_x[HEADS], to_b[HEADS], u, slope, to_u;
      read(x, logits, start, stop);
      read_wide(b, bias, start, stop);
      read(g, out, start, stop);
      for (int h = 0; h < HEADS; h++) {
        EACH x[h][n] = x[h][n] > UNSEEN ? x[h][n] : UNSEEN;
        EACH to_x[h][n] = to_b[h][n] = g[h][n];
      }
      for (int k = 0; k < HIDDEN; k++) {
        unit(u, (const pairs *)x, (const pairs *)b, inner[k]);
        EACH slope[n] = u[n] > 0 ? 1 : leak;
        EACH u[n] *= slope[n];
        EACH to_u[n] = 0;
        for (int h = 0; h < HEADS; h++) EACH to_u[n] += outer[k][h] * g[h][n];
        EACH to_u[n] *= slope[n];
        for (int h = 0; h < HEADS; h++) {
          EACH to_x[h][n] += inner[k][h] * to_u[n];
          EACH to_b[h][n] += inner[k][HEADS + h] * to_u[n];
        }
        for (int part = 0; part < PAIRS; part += PARTS) {
          for (int h = 0; h < HEADS; h++)
            for (int n = 0; n < PARTS; n++) {
              inner_sum[k][h][n] += x[h][part + n] * to_u[part + n];
              inner_sum[k][HEADS + h][n] += b[h][part + n] * to_u[part + n];
              outer_sum[k][h][n] += g[h][part + n] * u[part + n];
            }
          for (int n = 0; n < PARTS; n++) inner_sum[k][2 * HEADS][n] += to_u[part + n];
        }
      }
      for (int h = 0; h < HEADS; h++) EACH to_x[h][n] = x[h][n] > UNSEEN ? to_x[h][n] : g[h][n];
      write((const pairs *)to_x, to_logits, start, stop);
      write_wide((const pairs *)to_b, to_bias, start, stop);
    }
    for (int k = 0; k < HIDDEN; k++) {
      for (int i = 0; i <= 2 * HEADS; i++) inner_sums[share][k][i] = total(inner_sum[k][i]);
      for (int h = 0; h < HEADS; h++) outer_sums[share][k][h] = total(outer_sum[k][h]);
    }
  }
  for (int share = 0; share < SHARES; share++)
    for (int k = 0; k < HIDDEN; k++) {
      for (int i = 0; i <= 2 * HEADS; i++) to_inner[k][i] += inner_sums[share][k][i];
      for (int h = 0; h < HEADS; h++) to_outer[k][h] += outer_sums[share][k][h];
    }
}
