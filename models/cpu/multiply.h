/* Products of small matrices: of floats by any processor's vectors, of bfloat16 by PAIRS on x86 or the TILES of AMX.

   A left matrix is stored row by row. A right matrix is stored in panels of 32 columns, row by row; in bfloat16, two
   rows alternate. Sizes are rounded up to 32, with zeros. */
#include "element.h"

/* The width of this processor's vectors, in floats. */
#if defined __AVX512F__
#define LANES 16
#elif defined __AVX__
#define LANES 8
#else
#define LANES 4
#endif

typedef float vector __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

#define SIDE 32 /* of a product's smallest block */

#if defined TILES || defined PAIRS
#ifdef TILES
#pragma GCC target("amx-tile,amx-bf16,avx512bf16")
#else
#pragma GCC target("avx512bf16")
#endif
#include <immintrin.h>
typedef element operand;
#define IN_TURNS 2
static inline operand operand_of(element x) { return x; }

/* Write x times `by` as operands; `count` is a multiple of SIDE. */
static inline void scale_operands(int64_t count, const float *x, float by, operand *to) {
  __m512 all = _mm512_set1_ps(by);
  for (int64_t n = 0; n < count; n += SIDE) {
    __m512 low = _mm512_mul_ps(_mm512_loadu_ps(x + n), all), high = _mm512_mul_ps(_mm512_loadu_ps(x + n + 16), all);
    _mm512_storeu_si512(to + n, (__m512i)_mm512_cvtne2ps_pbh(high, low));
  }
}
#else
typedef float operand;
#define IN_TURNS 1
static inline operand operand_of(element x) { return widen(x); }

static inline void scale_operands(int64_t count, const float *x, float by, operand *to) {
  for (int64_t n = 0; n < count; n++) to[n] = x[n] * by;
}
#endif

typedef struct {
  const operand *data;
  int64_t row, panel; /* distances between rows (pairs of rows in bfloat16) and panels, in numbers */
} Right;

static inline int64_t round_up(int64_t count) { return (count + SIDE - 1) / SIDE * SIDE; }
static inline int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }

/* Zeros from the caller, divided among matrices; without them, bytes are only counted. */
typedef struct {
  char *data;
  int64_t used;
} Memory;

static inline void *take(Memory *from, int64_t count, size_t size) {
  char *place = from->data ? from->data + from->used : NULL;
  from->used += (count * size + 63) / 64 * 64;
  return place;
}

/* Return the part of a right matrix from row r and column n on, both multiples of SIDE. */
static inline Right corner(Right b, int64_t r, int64_t n) {
  b.data += n / SIDE * b.panel + r / IN_TURNS * b.row;
  return b;
}

/* Flush denormals to 0: weights of far keys may be denormal, which x86 multiplies a hundred times slower. Return the
   earlier setting. */
static unsigned begin_products(void) {
  unsigned before = 0;
#ifdef __SSE__
  before = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(before | 0x8040);
#endif
#ifdef TILES
  struct {
    uint8_t palette, first, none[14];
    uint16_t bytes[16];
    uint8_t rows[16];
  } all = {.palette = 1};
  for (int n = 0; n < 8; n++) all.bytes[n] = 64, all.rows[n] = 16;
  _tile_loadconfig(&all);
#endif
  return before;
}

static void end_products(unsigned before) {
#ifdef __SSE__
  __builtin_ia32_ldmxcsr(before);
#endif
#ifdef TILES
  _tile_release();
#endif
}

#ifdef TILES
/* Compute c (rows, columns) = a (rows, inner) b (inner, columns), plus c itself if `add`. */
static void multiply(int64_t rows, int64_t columns, int64_t inner, const operand *a, int64_t a_row, Right b, float *c,
                     int64_t c_row, int add) {
  for (int64_t r = 0; r < rows; r += SIDE)
    for (int64_t n = 0; n < columns; n += SIDE) {
      float *to = c + r * c_row + n, *below = to + 16 * c_row;
      if (add) {
        _tile_loadd(0, to, c_row * 4);
        _tile_loadd(1, to + 16, c_row * 4);
        _tile_loadd(2, below, c_row * 4);
        _tile_loadd(3, below + 16, c_row * 4);
      } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
      }
      for (int64_t k = 0; k < inner; k += SIDE) {
        const operand *left = a + r * a_row + k, *right = corner(b, k, n).data;
        _tile_loadd(4, left, a_row * 2);
        _tile_loadd(5, left + 16 * a_row, a_row * 2);
        _tile_loadd(6, right, b.row * 2);
        _tile_loadd(7, right + 32, b.row * 2);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
      }
      _tile_stored(0, to, c_row * 4);
      _tile_stored(1, to + 16, c_row * 4);
      _tile_stored(2, below, c_row * 4);
      _tile_stored(3, below + 16, c_row * 4);
    }
}
#else
#define TALL (LANES == 16 ? 8 : 4)

#ifdef PAIRS
typedef __m512 lanes;
static inline lanes times(const operand *a, const operand *b, lanes sum) {
  int32_t interleave;
  memcpy(&interleave, a, sizeof interleave);
  return _mm512_dpbf16_ps(sum, (__m512bh)_mm512_set1_epi32(interleave), (__m512bh)_mm512_loadu_si512(b));
}
#else
typedef vector lanes;
static inline lanes times(const operand *a, const operand *b, lanes sum) { return sum + *a * *(const lanes *)b; }
#endif

/* Compute the product for TALL rows and two vectors of columns, which stay in registers. */
static inline void strip(int64_t inner, const operand *a, int64_t a_row, const operand *b, int64_t b_row, float *c,
                         int64_t c_row, int add) {
  lanes sum[TALL][2];
#pragma GCC unroll 8
  for (int r = 0; r < TALL; r++)
    for (int n = 0; n < 2; n++) sum[r][n] = add ? (lanes) * (vector *)(c + r * c_row + n * LANES) : (lanes){0};
  for (int64_t k = 0; k < inner; k += IN_TURNS) {
#pragma GCC unroll 8
    for (int r = 0; r < TALL; r++) {
      sum[r][0] = times(a + r * a_row + k, b, sum[r][0]);
      sum[r][1] = times(a + r * a_row + k, b + LANES * IN_TURNS, sum[r][1]);
    }
    b += b_row;
  }
#pragma GCC unroll 8
  for (int r = 0; r < TALL; r++)
    for (int n = 0; n < 2; n++) *(vector *)(c + r * c_row + n * LANES) = (vector)sum[r][n];
}

/* Compute c (rows, columns) = a (rows, inner) b (inner, columns), plus c itself if `add`. */
static void multiply(int64_t rows, int64_t columns, int64_t inner, const operand *a, int64_t a_row, Right b, float *c,
                     int64_t c_row, int add) {
  for (int64_t n = 0; n < columns; n += 2 * LANES)
    for (int64_t r = 0; r < rows; r += TALL)
      strip(inner, a + r * a_row, a_row, corner(b, 0, n).data + n % SIDE * IN_TURNS, b.row, c + r * c_row + n, c_row,
            add);
}
#endif
