/* A network of UNITS ReLUs that reads one number and gives FEATURES, forward and backward. */
#include "element.h"
#include "vectors.h"

#include <stdlib.h>

#define SHARES 16  /* of the numbers, for threads */
#define VECTORS 4
#define NUMBERS (VECTORS * LANES) /* at a time */
#define EACH for (int n = 0; n < NUMBERS; n++)

/* Some of `count` numbers from `start` on; past the last, `rest`. */
static inline void take(int64_t count, const float *from, int64_t start, float rest, float *to) {
  EACH to[n] = start + n < count ? from[start + n] : rest;
}

/* `out` (FEATURES, count) from x; `lines`: slope and start of each unit. */
void forward(int64_t count, const float *x, const float (*lines)[2], const float (*weights)[UNITS], const float *level,
             float *out) {
#pragma omp parallel for if (count * UNITS > MANY)
  for (int64_t start = 0; start < count; start += NUMBERS) {
    int64_t some = count - start < NUMBERS ? count - start : NUMBERS;
    float at[NUMBERS], unit[NUMBERS], y[FEATURES][NUMBERS];
    take(count, x, start, 0, at);
    for (int f = 0; f < FEATURES; f++) EACH y[f][n] = level[f];
    for (int u = 0; u < UNITS; u++) {
      float slope = lines[u][0], first = lines[u][1];
      EACH unit[n] = slope * at[n] + first;
      EACH unit[n] = unit[n] < 0 ? 0 : unit[n];
      for (int f = 0; f < FEATURES; f++) EACH y[f][n] += weights[f][u] * unit[n];
    }
    for (int f = 0; f < FEATURES; f++) memcpy(out + f * count + start, y[f], some * sizeof(float));
  }
}

/* Sums of the gradients of one unit and of its weights, a lane each. */
typedef struct {
  vector slope, start, weights[FEATURES];
} Unit;

static void backward_of(int64_t count, const float *x, const float (*lines)[2], const float (*weights)[UNITS],
                        const float *g, int64_t start, float *to_x, Unit *to) {
  vector at[VECTORS], from[FEATURES][VECTORS], to_at[VECTORS] = {0};
  take(count, x, start, 0, (float *)at);
  for (int f = 0; f < FEATURES; f++) take(count, g + f * count, start, 0, (float *)from[f]);
  for (int u = 0; u < UNITS; u++, to++) {
    float slope = lines[u][0], first = lines[u][1];
    Unit own = *to;
    for (int v = 0; v < VECTORS; v++) {
      vector bent = at[v] * slope + first, unit, on = {0};
      for (int f = 0; f < FEATURES; f++) on += from[f][v] * weights[f][u];
      LANE unit[n] = bent[n] < 0 ? 0 : bent[n];
      LANE on[n] = bent[n] <= 0 ? 0 : on[n];
      to_at[v] += on * slope;
      own.slope += on * at[v];
      own.start += on;
      for (int f = 0; f < FEATURES; f++) own.weights[f] += unit * from[f][v];
    }
    *to = own;
  }
  memcpy(to_x + start, to_at, (count - start < NUMBERS ? count - start : NUMBERS) * sizeof(float));
}

/* From g (FEATURES, count), to x and to slopes, starts and weights, which are `to` (UNITS, 2 + FEATURES). */
void backward(int64_t count, const float *x, const float (*lines)[2], const float (*weights)[UNITS], const float *g,
              float *to_x, float *to) {
  Unit(*sums)[UNITS] = calloc(SHARES, sizeof *sums);
  int64_t blocks = (count + NUMBERS - 1) / NUMBERS;
#pragma omp parallel for if (count * UNITS > MANY)
  for (int64_t share = 0; share < SHARES; share++)
    for (int64_t block = blocks * share / SHARES; block < blocks * (share + 1) / SHARES; block++)
      backward_of(count, x, lines, weights, g, block * NUMBERS, to_x, sums[share]);
  const vector *own = (const vector *)sums;
  for (int64_t of = 0; of < UNITS * (2 + FEATURES); of++) {
    vector sum = {0};
    for (int64_t share = 0; share < SHARES; share++) sum += own[share * UNITS * (2 + FEATURES) + of];
    LANE to[of] += sum[n];
  }
  free(sums);
}
