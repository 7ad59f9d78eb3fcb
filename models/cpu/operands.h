/* Conversions of tensors to operands of products, and back. */
#include "multiply.h"

/* Write rows x (count, width) as a left matrix. */
static void as_left(int64_t count, int64_t width, const element *x, int64_t x_row, operand *to, int64_t to_row) {
  for (int64_t n = 0; n < count; n++)
    for (int64_t d = 0; d < width; d++) to[n * to_row + d] = operand_of(x[n * x_row + d]);
}

static inline Right right(const operand *x, int64_t rows) {
  return (Right){x, SIDE * IN_TURNS, SIDE * rows};
}

#if IN_TURNS == 2
typedef uint32_t turn __attribute__((may_alias)); /* two rows of a column */
static inline turn interleave(element above, element below) { return above | (turn)below << 16; }
#else
typedef float turn;
static inline turn interleave(element above, element below) { return operand_of(above); }
#endif

/* Interleave columns of a transpose. */
static inline void across_turns(int64_t columns, const element *x, turn *to) {
  for (int64_t d = 0; d < columns; d++) to[d * SIDE] = interleave(x[d * IN_TURNS], x[d * IN_TURNS + IN_TURNS - 1]);
}

/* Write rows x (count, width) as a right matrix with `rows` rows. */
static void as_right(int64_t count, int64_t width, const element *x, int64_t x_row, operand *to, int64_t rows) {
  for (int64_t first = 0; first < width; first += SIDE)
    for (int64_t n = 0; n < count; n += IN_TURNS) {
      static const element zeros[SIDE];
      const element *above = x + n * x_row + first, *below = n + IN_TURNS > count ? zeros : above + x_row;
      turn *at = (turn *)(to + first * rows + n * SIDE);
      for (int64_t d = 0; d < min(SIDE, width - first); d++) at[d] = interleave(above[d], below[d]);
    }
}

/* Write the transpose (width, count) of x as a right matrix with `rows` rows. */
static void across_right(int64_t count, int64_t width, const element *x, int64_t x_row, operand *to, int64_t rows) {
  for (int64_t n = 0; n < count; n++) {
    turn *at = (turn *)(to + n / SIDE * SIDE * rows) + n % SIDE;
    const element *source = x + n * x_row;
    int64_t d = 0;
    for (; d + SIDE <= width; d += SIDE) across_turns(SIDE / IN_TURNS, source + d, at + d / IN_TURNS * SIDE);
    across_turns((width - d) / IN_TURNS, source + d, at + d / IN_TURNS * SIDE);
    if (width % IN_TURNS) at[width / IN_TURNS * SIDE] = interleave(source[width - 1], 0);
  }
}

/* Write the transpose of x as a left matrix (width, SIDE), padded with zeros. */
static void across_left(int64_t count, int64_t width, const element *x, int64_t x_row, operand *to) {
  memset(to, 0, count < SIDE ? SIDE * width * sizeof *to : 0);
  for (int64_t n = 0; n < count; n += IN_TURNS) {
    static const element zeros[SIDE];
    turn *at = (turn *)(to + n);
    for (int64_t d = 0; d < width; d += SIDE) {
      const element *above = x + n * x_row + d, *below = n + IN_TURNS > count ? zeros : above + x_row;
      for (int64_t i = 0; i < min(SIDE, width - d); i++) at[(d + i) * (SIDE / IN_TURNS)] = interleave(above[i], below[i]);
    }
  }
}

/* Return a left matrix (count, columns) as a right one, in place or in `to`. */
static Right in_turns(int64_t count, int64_t columns, const operand *x, int64_t x_row, operand *to) {
#if IN_TURNS == 2
  as_right(count, columns, x, x_row, to, SIDE);
  return right(to, SIDE);
#else
  return (Right){x, x_row, SIDE};
#endif
}

/* Return numbers (count, columns) as a right matrix in `to`, whose rows are `gap` apart. */
static Right kept_in_turns(int64_t count, int64_t columns, const element *x, int64_t x_row, operand *to, int64_t gap) {
#if IN_TURNS == 2
  return in_turns(count, columns, x, x_row, to);
#else
  as_left(count, columns, x, x_row, to, gap);
  return (Right){to, gap, SIDE};
#endif
}

/* Write operands as numbers of a tensor. */
static inline void store(int64_t count, const operand *x, element *to) {
#if IN_TURNS == 2
  memcpy(to, x, count * sizeof *x);
#else
  for (int64_t n = 0; n < count; n++) to[n] = narrow(x[n]);
#endif
}
