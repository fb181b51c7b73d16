/*
 * How a warpgroup of v3 convolves on Hopper's tensor cores: its four warps have a tile of
 * tf32_lines each, and share the weights, which the instruction reads from shared memory itself.
 * Sums, their order and so their bits are those of tf32_lines.
 */
#ifndef ASSAY_CONV3D_GROUPNORM_MEAN_V3_WARPGROUP_H
#define ASSAY_CONV3D_GROUPNORM_MEAN_V3_WARPGROUP_H

#include "kernels/common/hopper.h"
#include "kernels/conv3d_groupnorm_mean/v3_lines.h"

template <int OCTETS> struct tf32_warpgroup : tf32_lines<OCTETS> {
    typedef tf32_lines<OCTETS> base;
    static constexpr bool WARPGROUP = true;
    static constexpr int TAPS = 3, LINES_READ = TILE_LINES + TAPS - 1, TOGETHER = 5;
    static_assert(LINES_READ % TOGETHER == 0, "all lines are read");

    /* Fragments as descriptors tell of them: of 8 j, four j of 8 channels first. */
    static __device__ __forceinline__ int weight_at(const divider &, int khs, int j, int kh,
                                                    int channel) {
        return ((j / 8 * khs + kh) * OCTETS + channel / 8) * base::FRAGMENT + j / 4 % 2 * WARP +
               channel % 8 * 4 + j % 4;
    }

    static __device__ __forceinline__ uint64_t descriptor(const float *weights) {
        const uint64_t half = WARP * sizeof(float), fragment = 2 * half;
        return (uint64_t)(shared_address(weights) >> 4 & 0x3fff) | half >> 4 << 16 |
               fragment >> 4 << 32;
    }

    /* The products of all taps of `places` j, three kh each. */
    template <int PITCH>
    __device__ __forceinline__ void add_places(const float *x, const int *offset, int places,
                                               const float *weights) {
        uint64_t y = descriptor(weights);
        x += lane() / 4;
        offset += lane() % 4;
        uint32_t a[LINES_READ][4];
#pragma unroll 1
        for (int j = 0; j < places; j += 8) {
            const float *const low = x + offset[j], *const high = x + offset[j + 4];
#pragma unroll
            for (int first = 0; first < LINES_READ; first += TOGETHER) {
                wgmma_wait<LINES_READ / TOGETHER - 1>();
#pragma unroll
                for (int l = first; l < first + TOGETHER; ++l) {
                    a[l][0] = __float_as_uint(low[l * PITCH]);
                    a[l][1] = __float_as_uint(low[l * PITCH + 8]);
                    a[l][2] = __float_as_uint(high[l * PITCH]);
                    a[l][3] = __float_as_uint(high[l * PITCH + 8]);
                }
                wgmma_fence();
#pragma unroll
                for (int l = first; l < first + TOGETHER; ++l)
#pragma unroll
                    for (int t = 0; t < TAPS; ++t)
                        if (l - t >= 0 && l - t < TILE_LINES)
                            wgmma_tf32(reinterpret_cast<float(&)[4 * OCTETS]>(this->sum[l - t]),
                                       a[l], y + t * OCTETS * base::FRAGMENT * sizeof(float) / 16,
                                       true);
                wgmma_commit();
            }
            y += TAPS * OCTETS * base::FRAGMENT * sizeof(float) / 16;
        }
        wgmma_wait<0>();
#pragma unroll
        for (int l = 0; l < TILE_LINES; ++l)
            wgmma_results(reinterpret_cast<float(&)[4 * OCTETS]>(this->sum[l]));
    }
};

#endif
