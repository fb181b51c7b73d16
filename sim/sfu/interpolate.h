/* What the model (sfu.c) and the fit of its tables share: the unit's square, and the constants. */
#ifndef ASSAY_SIM_SFU_INTERPOLATE_H
#define ASSAY_SIM_SFU_INTERPOLATE_H

#include <stdint.h>

/* Sums have SFU_POINT bits behind the point; the logarithm keeps SFU_LG2_POINT of them. */
enum { SFU_POINT = 41, SFU_LG2_POINT = 36 };

/* What the unit adds to each sum of a function. */
enum {
    SFU_RCP_ROUNDING = 8092,
    SFU_ROOT_ROUNDING = -1,
    SFU_EX2_ROUNDING = 16144,
    SFU_LG2_ROUNDING = 6696,
};

/*
 * x^2 in units of 2^-15, x being a fraction of 17 bits. Products of two bits i and j > i stand in
 * column i + j + 1, squares of bit i in column 2 i; the columns below 19 are not built.
 */
static inline int64_t sfu_square(uint32_t x) {
    const uint32_t high = x >> 9; /* whose columns are all there but that of bit 9's square, 18 */
    uint32_t sum = high * high >> 1;
    for (uint32_t i = 2; i <= 8; ++i)
        sum += (x >> i & 1) * (x >> (18 - i));
    return sum;
}

/* Of each binade from 2^-8 on, for tanh: how many low bits of the mantissa are not used, and where
 * its segments begin. */
static const struct {
    uint8_t unused, first;
} sfu_tanh_binades[] = {{6, 0},  {6, 1},  {6, 2},  {5, 3},  {5, 5}, {4, 7},
                        {4, 11}, {4, 15}, {3, 19}, {2, 27}, {3, 43}};
enum { SFU_TANH_BINADES = sizeof sfu_tanh_binades / sizeof sfu_tanh_binades[0] };

#endif
