/* A network of HIDDEN leaky units that reads the logits of all HEADS heads, and adds to them. */

#define ABREAST (LANES == 16 && HEADS <= 6 ? 2 : 1) /* vectors at a time: as many as fit the registers */
#define EACH for (int v = 0; v < ABREAST; v++)

/* Apply the network to the logits x of a query for ABREAST vectors of keys; the next head is `head` numbers further on.
   `units` holds the inputs from distances to each hidden unit, then to each head. */
static inline void mix_vectors(const Params *args, const float *units, float *x, int64_t head) {
  const float *to_unit = args->to_units, *from_unit = args->from_units, leak = args->leak;
  vector in[HEADS][ABREAST], out[HEADS][ABREAST], u[ABREAST];
  int64_t next = args->units.strides[1];
  for (int h = 0; h < HEADS; h++)
    EACH {
      in[h][v] = *(vector *)(x + h * head + v * LANES);
      out[h][v] = in[h][v] + *(const vector *)(units + (HIDDEN + h) * next + v * LANES);
    }
  for (int k = 0; k < HIDDEN; k++, to_unit += HEADS, from_unit += HEADS) {
    EACH u[v] = *(const vector *)(units + k * next + v * LANES);
    for (int h = 0; h < HEADS; h++) EACH u[v] += in[h][v] * to_unit[h];
    EACH u[v] = greater(u[v], leak * u[v]);
    for (int h = 0; h < HEADS; h++) EACH out[h][v] += u[v] * from_unit[h];
  }
  for (int h = 0; h < HEADS; h++) EACH *(vector *)(x + h * head + v * LANES) = out[h][v];
}

static inline void mix(const Params *args, const float *units, int64_t columns, float *x, int64_t head) {
  for (int64_t n = 0; n < columns; n += ABREAST * LANES) mix_vectors(args, units + n, x + n, head);
}
