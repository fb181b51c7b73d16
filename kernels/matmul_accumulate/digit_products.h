/*
 * Six products of bf16 digits for one of fp32 numbers.
 *
 * With a = a0 + a1 + a2 and b likewise, a·b is a1·b1 + a2·b0 + a0·b2 + a1·b0 + a0·b1 + a0·b0; what
 * is left out, a1·b2 + a2·b1 + a2·b2, is less than (1 + 2^-9) u |a·b|, u = 2^-24. The tensor core
 * cuts what it aligns, toward zero, so a slice of DEPTH products of each element begins with a sum
 * of 0, takes the small products first, and is then added to the total in fp32, to nearest.
 *
 * Units are used up in the order 2, 1, 0: the third of a stage is free, and filled anew, when half
 * of its products are done.
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_DIGIT_PRODUCTS_H
#define ASSAY_MATMUL_ACCUMULATE_DIGIT_PRODUCTS_H

#include "kernels/matmul_accumulate/digit_tile.h"

/* One slice's products. A unit is free when the products behind its last one have begun. */
static __device__ __forceinline__ void multiply_slice(digit_ring<bf16x6> ring, int group,
                                                      float (&sums)[SUMS]) {
    mbarrier_wait(ring.full(2), ring.round);
    mbarrier_wait(ring.full(1), ring.round);
    wgmma_fence();
    multiply_digits(ring, group, 1, 1, true, sums);
    mbarrier_wait(ring.full(0), ring.round);
    multiply_digits(ring, group, 2, 0, false, sums);
    multiply_digits(ring, group, 0, 2, false, sums);
    wgmma_commit();
    multiply_digits(ring, group, 1, 0, false, sums);
    multiply_digits(ring, group, 0, 1, false, sums);
    wgmma_commit();
    wgmma_wait<1>();
    release(ring.empty(2));
    multiply_digits(ring, group, 0, 0, false, sums);
    wgmma_commit();
    wgmma_wait<1>();
    release(ring.empty(1));
    wgmma_wait<0>();
    wgmma_results(sums);
    release(ring.empty(0));
}

static __device__ __forceinline__ void
multiply_slices(int32_t slices, int group, digit_ring<bf16x6> &ring, float (&total)[SUMS]) {
    for (int32_t slice = 0; slice < slices; ++slice) {
        float sums[SUMS];
        multiply_slice(ring, group, sums);
#pragma unroll
        for (int i = 0; i < SUMS; ++i)
            total[i] += sums[i];
        ring.next();
    }
}

#endif
