/*
 * Three products of fp16 digits for one of fp32 numbers.
 *
 * With a = ah + 2^-11 al and b likewise, a·b is ah·bh + 2^-11 (ah·bl + al·bh); what is left out,
 * 2^-22 al·bl, is at most 4 u |a·b|. The small products of all of k are one sum, in which what the
 * tensor core cuts is 2^-10 of what it cuts of large ones. Of these a slice of DEPTH begins with a
 * sum of 0, and is then added to the total in fp32, to nearest.
 *
 * While a slice's small products are multiplied, its large ones are added to the total, and while
 * the next one's large products are, its units are given back.
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_HALF_PRODUCTS_H
#define ASSAY_MATMUL_ACCUMULATE_HALF_PRODUCTS_H

#include "kernels/matmul_accumulate/digit_tile.h"
#include "kernels/matmul_accumulate/half_digits.h"

static __device__ __forceinline__ void release_both(digit_ring<f16x3> ring) {
    release(ring.empty(0));
    release(ring.empty(1));
}

static __device__ __forceinline__ void
multiply_slices(int32_t slices, int group, digit_ring<f16x3> &ring, float (&total)[SUMS]) {
    float large[SUMS], small[SUMS];
    digit_ring<f16x3> before = ring;
    for (int32_t slice = 0; slice < slices; ++slice) {
        mbarrier_wait(ring.full(0), ring.round);
        wgmma_fence();
        multiply_digits(ring, group, 0, 0, true, large);
        wgmma_commit();
        wgmma_wait<1>();
        if (slice > 0)
            release_both(before);
        mbarrier_wait(ring.full(1), ring.round);
        multiply_digits(ring, group, 0, 1, slice == 0, small);
        multiply_digits(ring, group, 1, 0, false, small);
        wgmma_commit();
        wgmma_wait<1>();
        wgmma_results(large);
#pragma unroll
        for (int i = 0; i < SUMS; ++i)
            total[i] += large[i];
        before = ring;
        ring.next();
    }
    wgmma_wait<0>();
    wgmma_results(small);
    release_both(before);
#pragma unroll
    for (int i = 0; i < SUMS; ++i)
        total[i] = fmaf(small[i], 1.0f / (1 << LOW), total[i]);
}

#endif
