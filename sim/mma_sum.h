/*
 * Sums of a tensor core, of eight neighbours of a row at a time: what an element of the result
 * takes of its row of a and of its column of b, and adds to its accumulator (sim/mma.c: the rule).
 */
#ifndef ASSAY_SIM_MMA_SUM_H
#define ASSAY_SIM_MMA_SUM_H

#include <stdbool.h>
#include <stdint.h>

enum { MMA_K = 16, MMA_COLUMNS = 8 };

/* Floating-point formats of 19 bits and fewer, and fp32. */
typedef struct mma_format {
    int32_t exponent_bits, fraction_bits;
} mma_format;

/* The compiler makes vector instructions of these where the host has them. */
typedef int32_t mma_lanes __attribute__((vector_size(4 * MMA_COLUMNS)));

/* significand * 2^(exponent - fraction bits of the format), for each k. Behind the last k lie
 * zeros. */
typedef struct mma_row {
    int32_t significand[MMA_K], exponent[MMA_K];
    int32_t used; /* 1 + the last k whose number is not zero; 0: there is none */
    bool finite;
} mma_row;

typedef struct mma_columns {
    mma_lanes significand[MMA_K], exponent[MMA_K];
    mma_lanes special; /* -1: the column has a number that is not finite */
    int32_t used;      /* likewise: of any column */
} mma_columns;

/* Of the numbers' bits. */
void mma_row_decode(mma_row *row, const uint32_t bits[MMA_K], mma_format f);
void mma_columns_decode(mma_columns *columns, const mma_lanes bits[MMA_K], mma_format f);

/* Adds the products of each column to c, in fp32; or to the bits of f16, rounded once. */
void mma_add(const mma_row *row, const mma_columns *columns, mma_format f, float c[MMA_COLUMNS]);
void mma_add_f16(const mma_row *row, const mma_columns *columns, uint32_t c[MMA_COLUMNS]);

#endif
