/*
 * The statistics of a run of planes: of a tile of each plane, where a warp has them one behind the
 * other.
 *
 * Deviations are those from the first plane's mean: sums of them and of their squares give the
 * run's, with one subtraction,
 *
 *     mean = centre + sum / count,   squares = sum of squares - sum^2 / count.
 *
 * It cancels little. Of p planes the first lies as far from the run's mean as its own mean, the
 * centre, does, so that the sum of squares is at most 1 + p times what is left of it. p is MOST at
 * most; then the next plane is a first one, and parts are merged as pieces are (v3_statistics.h).
 */
#ifndef ASSAY_CONV3D_GROUPNORM_MEAN_V3_RUN_H
#define ASSAY_CONV3D_GROUPNORM_MEAN_V3_RUN_H

#include "kernels/conv3d_groupnorm_mean/v3_statistics.h"

/* In shared memory, each lane's own: registers are full of products. */
template <typename Core> struct run_statistics {
    static constexpr int LIVE = Core::LANE_CHANNELS, FIRST = Core::FIRST_PEER, FOLD = fold_of(LIVE),
                         MOST = 32;
    /* Of each channel of the lane the centre and the sums; the centre of the one that fold() leaves
     * to it, and what is known of that from parts before. */
    enum { CENTRE = 0, SUM = LIVE, SQUARE = 2 * LIVE, OWN = 3 * LIVE, MEAN, SQUARES, EACH };
    float *at;

    /* Bytes of a block. */
    static constexpr int BYTES = EACH * THREADS * (int)sizeof(float);

    __device__ __forceinline__ explicit run_statistics(float *scratch) : at(scratch + threadIdx.x) {
    }
    __device__ __forceinline__ float &of(int i) const {
        return at[i * THREADS];
    }
    __device__ __forceinline__ void clear() const {
#pragma unroll
        for (int i = SUM; i < OWN; ++i)
            of(i) = 0;
    }

    /* Makes deviations of sums of products. */
    __device__ __forceinline__ void leave_centre(Core &core) const {
#pragma unroll
        for (int c = 0; c < LIVE; ++c) {
            const float centre = of(CENTRE + c);
#pragma unroll
            for (int s = 0; s < Core::LANE_SLOTS; ++s)
                core.put(s, c, core.at(s, c) - centre);
        }
    }

    /* A first plane's mean is the centre of its deviations, too. */
    __device__ __forceinline__ void find_centre(Core &core, const tile &t) const {
        const float zeros[LIVE] = {};
        core.put_outside(t.lines, t.places, zeros);
        float all[FOLD] = {};
#pragma unroll
        for (int s = 0; s < Core::LANE_SLOTS; ++s)
#pragma unroll
            for (int c = 0; c < LIVE; ++c)
                all[c] += core.at(s, c);
        const float own = fold(all, FIRST) * (1 / (float)(t.lines * t.places));
        of(OWN) = own;
#pragma unroll
        for (int c = 0; c < LIVE; ++c)
            of(CENTRE + c) =
                __shfl_sync(0xffffffffu, own, folded_at<FOLD>(c, FIRST) + lane() % FIRST);
    }

    /* A plane's tile, the `number`-th of the run. Behind the last one of a part, the part joins
     * those before. */
    __device__ __forceinline__ void add(Core &core, const tile &t, int number, bool last) const {
        if (number % MOST == 0)
            find_centre(core, t);
        leave_centre(core);
        const float zeros[LIVE] = {};
        core.put_outside(t.lines, t.places, zeros); /* no deviation there */
#pragma unroll
        for (int c = 0; c < LIVE; ++c) {
            float sum = of(SUM + c), square = of(SQUARE + c);
#pragma unroll
            for (int s = 0; s < Core::LANE_SLOTS; ++s) {
                sum += core.at(s, c);
                square = fma_(core.at(s, c), core.at(s, c), square);
            }
            of(SUM + c) = sum;
            of(SQUARE + c) = square;
        }
        if (last || number % MOST == MOST - 1)
            join((float)(t.lines * t.places * (number / MOST * MOST)),
                 (float)(t.lines * t.places * (number % MOST + 1)));
    }

    /* A part of `here` positions joins the `before` ones. */
    __device__ __forceinline__ void join(float before, float here) const {
        float off[FOLD] = {}, rest[FOLD] = {};
#pragma unroll
        for (int c = 0; c < LIVE; ++c) {
            off[c] = of(SUM + c);
            rest[c] = of(SQUARE + c);
        }
        const float moved = fold(off, FIRST), shift = moved / here,
                    left = fma_(-moved, shift, fold(rest, FIRST)), squares = left < 0 ? 0 : left,
                    mean = of(OWN) + shift;
        if (before > 0) {
            const float step = mean - of(MEAN), share = here / (before + here);
            of(SQUARES) += squares + step * step * before * share;
            of(MEAN) = fma_(step, share, of(MEAN));
        } else {
            of(SQUARES) = squares;
            of(MEAN) = mean;
        }
        clear();
    }

    /* Writes a run of so many planes as piece `t.index`. The same warp's pieces of the next `none`
     * runs are empty. */
    __device__ __forceinline__ void write(const tile &t, int planes, int none, int64_t co,
                                          const pieces<float> &to) const {
        const int c = folded<FOLD>(FIRST);
        const int64_t channel = t.channel + Core::channel(c);
        if (lane() >= FOLD * FIRST || c >= LIVE || channel >= co)
            return;
        int64_t e = (t.n * to.each + t.index) * co + channel;
        for (int run = 0; run <= none; ++run, e += WARPS * co) {
            const bool there = run == 0 && t.lines > 0;
            to.count[e] = there ? (float)(t.lines * t.places * planes) : 0;
            to.mean[e] = there ? of(MEAN) : 0;
            to.squares[e] = there ? of(SQUARES) : 0;
        }
    }
};

#endif
