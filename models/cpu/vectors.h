/* Vectors of floats, as wide as this processor's. */
#include <stdint.h>

#if defined __AVX512F__
#define LANES 16
#elif defined __AVX__
#define LANES 8
#else
#define LANES 4
#endif
#define LANE for (int n = 0; n < LANES; n++)

typedef float vector __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

/* b, where one of them is no number. */
static inline vector greater(vector a, vector b) {
  LANE a[n] = a[n] > b[n] ? a[n] : b[n];
  return a;
}
