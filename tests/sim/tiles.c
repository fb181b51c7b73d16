#include "tests/sim/tiles.h"
#include "sim/mma.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* One 16 x 8 tile of c at (row, column), and `step` of k from `first` on. */
typedef struct tile {
    int64_t m, n, k, row, column, first, step;
    const float *a, *b;
    float *c;
} tile;

static uint32_t bits_of(float v) {
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    return u;
}

/* The elements at these places of the tile; 0 or NULL outside of the matrix and of the step. Zeros
 * take no part in an instruction. */
static uint32_t left(const tile *t, int64_t i, int64_t l) {
    const bool inside = t->row + i < t->m && l < t->step && t->first + l < t->k;
    return inside ? bits_of(t->a[(t->row + i) * t->k + t->first + l]) : 0;
}

static uint32_t right(const tile *t, int64_t l, int64_t j) {
    const bool inside = t->column + j < t->n && l < t->step && t->first + l < t->k;
    return inside ? bits_of(t->b[(t->first + l) * t->n + t->column + j]) : 0;
}

static float *result(const tile *t, int64_t i, int64_t j) {
    const bool inside = t->row + i < t->m && t->column + j < t->n;
    return inside ? &t->c[(t->row + i) * t->n + t->column + j] : NULL;
}

/* Two bf16 of one register, the first in its lower half. */
static uint32_t pair(uint32_t first, uint32_t second) {
    return first >> 16 | (second & 0xffff0000u);
}

typedef struct registers {
    uint32_t a[4], b[2];
    float c[4];
} registers;

/* kernels/common/tensor.h says which lane holds what. */
static void load(const tile *t, sim_tiles kind, int64_t lane, registers *r) {
    const bool tf32 = kind == SIM_TILES_TF32;
    const int64_t g = lane / 4, q = lane % 4;
    for (int64_t i = 0; i < 4; ++i) {
        const int64_t row = g + 8 * (i % 2), l = 2 * q + 8 * (i / 2);
        const float *c = result(t, g + 8 * (i / 2), 2 * q + i % 2);
        r->a[i] = tf32 ? left(t, row, q + 4 * (i / 2)) : pair(left(t, row, l), left(t, row, l + 1));
        r->c[i] = c ? *c : 0;
    }
    for (int64_t i = 0; i < 2; ++i) {
        const int64_t l = 2 * q + 8 * i;
        r->b[i] = tf32 ? right(t, q + 4 * i, g) : pair(right(t, l, g), right(t, l + 1, g));
    }
}

static void store(const tile *t, int64_t lane, const registers *r) {
    for (int64_t i = 0; i < 4; ++i) {
        float *c = result(t, lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2);
        if (c)
            *c = r->c[i];
    }
}

static void multiply_tile(const tile *t, sim_tiles kind) {
    enum { WARP = 32 };
    registers lane[WARP];
    sim_fragments fragments[WARP];
    for (int64_t i = 0; i < WARP; ++i) {
        load(t, kind, i, &lane[i]);
        fragments[i] = (sim_fragments){lane[i].a, lane[i].b, lane[i].c};
    }
    sim_mma_compute(kind == SIM_TILES_TF32 ? SIM_M16N8K8_TF32 : SIM_M16N8K16_BF16, fragments);
    for (int64_t i = 0; i < WARP; ++i)
        store(t, i, &lane[i]);
}

void sim_add_product(sim_tiles kind, int64_t step, int64_t m, int64_t n, int64_t k, const float *a,
                     const float *b, float *c) {
    tile t = {.m = m, .n = n, .k = k, .step = step, .a = a, .b = b, .c = c};
    for (t.row = 0; t.row < m; t.row += 16)
        for (t.column = 0; t.column < n; t.column += 8)
            for (t.first = 0; t.first < k; t.first += step)
                multiply_tile(&t, kind);
}
