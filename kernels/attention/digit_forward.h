/*
 * Forward of attention v3_bf16x6 and v3_bf16x3. A tile's scores begin with a sum of 0, and with
 * PARTS so does its part of o, which is then added to o in fp32, to nearest. The softmax is v3's,
 * but that exp2 is the special function unit's. Its weights are split in registers. While one
 * warpgroup multiplies the other weighs: they take turns.
 */
#ifndef ASSAY_ATTENTION_DIGIT_FORWARD_H
#define ASSAY_ATTENTION_DIGIT_FORWARD_H

#include "kernels/attention/digit_plan.h"
#include "kernels/attention/digit_products.h"
#include "kernels/attention/v3_forward.h"
#include "kernels/common/special.h"

struct digit_maps {
    tensor_map q, k, v;
};

struct digit_problem {
    sizes n;
    float to_log2; /* of differences of products q·k: log2(e) / √d */
    sequence<float> o;
    rows<float> lse;
    const head_marks *marks;
};

/* ---- the loading thread ---- */

template <typename Plan>
static __device__ __forceinline__ void load_digits(const digit_problem &p, const digit_maps &maps,
                                                   const digit_memory<Plan> &memory, place at,
                                                   int tiles) {
    ring_place<Plan::UNITS> ring = {0, 0};
    const auto plane = [&](int digit) { return digit * p.n.heads + at.head; };
    const auto load = [&](const tensor_map *map, int tile, int digits) {
        UNROLL_BY(1)
        for (int digit = digits - 1; digit >= 0; --digit) {
            uint64_t *const full = memory.full(ring.stage);
            mbarrier_wait(memory.empty(ring.stage), ring.round ^ 1);
            mbarrier_expect(full, Plan::UNIT_BYTES);
            load_lines<Plan::D, Plan::KEYS>(memory.unit(ring.stage), map, tile * Plan::KEYS,
                                            plane(digit), full);
            ring.next();
        }
    };
    for (int group = 0; group < Plan::GROUPS; ++group) {
        uint64_t *const full = memory.queries_full(group);
        mbarrier_expect(full, Plan::SCORE_DIGITS * Plan::QUERY_BYTES);
        for (int digit = 0; digit < Plan::SCORE_DIGITS; ++digit)
            load_lines<Plan::D, GROUP_ROWS>(memory.queries(group, digit), &maps.q,
                                            at.row + group * GROUP_ROWS, plane(digit), full);
        if (group == 0) /* with which the first group begins */
            load(&maps.k, 0, Plan::SCORE_DIGITS);
    }
    UNROLL_BY(1)
    for (int tile = 0; tile < tiles; ++tile) {
        if (tile > 0)
            load(&maps.k, tile, Plan::SCORE_DIGITS);
        load(&maps.v, tile, Plan::N_DIGITS);
    }
}

/* ---- a warpgroup ---- */

/* Of a thread's two rows: their largest product so far, and its part of the sum of the weights. */
struct digit_rows {
    float base[2], sum[2];
};

/* Groups take turns at the tensor cores: while one multiplies the other weighs. */
static __device__ __forceinline__ void take_digit_turn(int group) {
    barrier_sync(1 + group, 2 * GROUP);
}
static __device__ __forceinline__ void give_digit_turn(int group) {
    barrier_arrive(2 - group, 2 * GROUP);
}

/* Three products of digits, then two, then one; multiply(g, h, first) begins that of digits g and
 * h, of which the second are in the ring, and release(h) gives a unit back. */
template <int N_DIGITS, typename Wait, typename Multiply, typename Release>
static __device__ __forceinline__ void stream_products(Wait wait, Multiply multiply,
                                                       Release release, int group) {
    wait(N_DIGITS - 1);
    take_digit_turn(group);
    wgmma_fence();
    if constexpr (N_DIGITS == 3) {
        multiply(0, 2, true);
        wait(1);
        multiply(1, 1, false);
        wait(0);
        multiply(2, 0, false);
        wgmma_commit();
        multiply(1, 0, false);
        multiply(0, 1, false);
        wgmma_commit();
        wgmma_wait<1>();
        release(2);
    } else if constexpr (N_DIGITS == 2) {
        multiply(0, 1, true);
        wgmma_commit();
        wait(0);
        multiply(1, 0, false);
    }
    multiply(0, 0, N_DIGITS == 1);
    wgmma_commit();
    give_digit_turn(group);
    if constexpr (N_DIGITS > 1) {
        wgmma_wait<1>();
        release(1);
    }
    wgmma_wait<0>();
    release(0);
}

/* Turns products into weights, and says what earlier sums are to be multiplied by. */
template <typename Scores>
static __device__ __forceinline__ void weigh_digits(Scores &s, digit_rows &rows, float to_log2,
                                                    float shrink[2]) {
    UNROLL
    for (int r = 0; r < 2; ++r) {
        float top[2] = {s.at(r, 0), s.at(r, 1)};
        UNROLL
        for (int c = 2; c < Scores::WIDTH; ++c)
            top[c % 2] = fmaxf(top[c % 2], s.at(r, c));
        const float largest = fmaxf(rows.base[r], largest_of<4, 1>(fmaxf(top[0], top[1])));
        const float base = exp_base(largest);
        shrink[r] = ex2_here((rows.base[r] - base) * to_log2);
        rows.base[r] = largest;
        float sum[2] = {0, 0};
        UNROLL
        for (int c = 0; c < Scores::WIDTH; ++c) {
            s.at(r, c) = ex2_here((s.at(r, c) - base) * to_log2);
            sum[c % 2] += s.at(r, c);
        }
        rows.sum[r] = fma_(rows.sum[r], shrink[r], sum[0] + sum[1]);
    }
}

template <typename Plan>
static __device__ __forceinline__ void
attend_by_digits(const digit_problem &p, const digit_memory<Plan> &memory, place at, int tiles) {
    constexpr int N_DIGITS = Plan::N_DIGITS;
    const int warp = uniform_warp() - GROUP_WARPS, group = warp / GROUP_WARPS;
    const int64_t first = at.row + group * GROUP_ROWS + warp % GROUP_WARPS * 16; /* the warp's */
    const int clear = (int)(visible_keys(p.n, first) / Plan::KEYS); /* tiles without a mask */
    ring_place<Plan::UNITS> ring = {0, 0};
    hopper_sums<Plan::COLUMNS> o;
    digit_rows rows = {{NO_SCORE, NO_SCORE}, {0, 0}};

    ring_place<Plan::UNITS> of_digit[N_DIGITS];
    const auto next_units = [&](int digits) {
        UNROLL
        for (int digit = digits - 1; digit >= 0; --digit) {
            of_digit[digit] = ring;
            ring.next();
        }
    };
    const auto wait = [&](int digit) {
        mbarrier_wait(memory.full(of_digit[digit].stage), of_digit[digit].round);
    };
    const auto release = [&](int digit) {
        if (leads_group())
            mbarrier_arrive(memory.empty(of_digit[digit].stage));
    };
    const auto address = [&](int digit) {
        return shared_address(memory.unit(of_digit[digit].stage));
    };
    UNROLL
    for (int i = 0; i < Plan::COLUMNS / 2; ++i)
        o.value[i] = 0;
    if (group == 1)
        give_digit_turn(group);
    if (tiles > 0)
        mbarrier_wait(memory.queries_full(group), 0);
    UNROLL_BY(1)
    for (int tile = 0; tile < tiles; ++tile) {
        uint32_t weights[N_DIGITS][Plan::KEYS / STEP][4];
        float shrink[2];
        {
            sliced_sums<Plan::COLUMNS, Plan::KEYS, Plan::SCORE_DIGITS> sums;
            next_units(Plan::SCORE_DIGITS);
            stream_products<Plan::SCORE_DIGITS>(
                wait,
                [&](int g, int h, bool begins) {
                    sums.multiply(shared_address(memory.queries(group, g)), address(h), begins);
                },
                release, group);
            hopper_sums<Plan::KEYS> &s = sums.total();
            if (tile >= clear)
                hide_keys<tensor_core<float>>(s, p.n, first, (int64_t)tile * Plan::KEYS, NO_SCORE);
            weigh_digits(s, rows, p.to_log2, shrink);
            split_sums(weights, s);
        }
        hopper_sums<Plan::COLUMNS> part_, &part = Plan::Digits::PARTS ? part_ : o;
        if constexpr (!Plan::Digits::PARTS) {
            UNROLL
            for (int r = 0; r < 2; ++r) {
                UNROLL
                for (int c = 0; c < o.WIDTH; ++c)
                    o.at(r, c) *= shrink[r];
            }
        }
        next_units(N_DIGITS);
        stream_products<N_DIGITS>(
            wait,
            [&](int g, int h, bool begins) {
                multiply_values(part, weights[g], address(h), begins && Plan::Digits::PARTS);
            },
            release, group);
        wgmma_results(part.value);
        if constexpr (Plan::Digits::PARTS) {
            UNROLL
            for (int r = 0; r < 2; ++r) {
                UNROLL
                for (int c = 0; c < o.WIDTH; ++c)
                    o.at(r, c) = fma_(o.at(r, c), shrink[r], part.at(r, c));
            }
        }
    }
    if (group == 0)
        take_digit_turn(group);

    float sum[2], inverse[2];
    UNROLL
    for (int r = 0; r < 2; ++r) {
        const int64_t query = first + tensor_core<float>::row(r);
        sum[r] = sum_over<4>(rows.sum[r]);
        inverse[r] = 1 / sum[r];
        if (query < p.n.sq && tensor_core<float>::mate() == 0)
            row(p.lse, at.head)[query] =
                sum[r] == 0
                    ? NO_SCORE
                    : rows.base[r] * (SCORE_UNIT<typename Plan::Digits> * p.n.scale) + log_(sum[r]);
    }
    store<tensor_core<float>>(o, head_of(p.o, at.head), first, 0, [&](int r, float value) {
        return sum[r] == 0 ? 0 : value * inverse[r];
    });
}

template <typename Plan>
static __global__ void __launch_bounds__(Plan::THREADS, 1)
    attend_on_digits(const digit_problem p, const __grid_constant__ digit_maps maps) {
    ASSAY_DYNAMIC_SHARED(unsigned char, shared);
    const place at = digit_place<Plan>(blockIdx.x, p.n, p.n.heads);
    if (is_marked<typename Plan::Digits>(p.marks, at.head, p.n.scale))
        return;
    const digit_memory<Plan> memory = digit_memory_in<Plan>(shared);
    const int tiles = (int)ceil_div(keys_in_reach(p.n, at.row, Plan::ROWS), Plan::KEYS);
    if (threadIdx.x == 0) {
        tensor_map_prefetch(&maps.q);
        tensor_map_prefetch(&maps.k);
        tensor_map_prefetch(&maps.v);
        make_barriers(memory);
    }
    __syncthreads();
    if (threadIdx.x < GROUP) {
        registers_lower<Plan::FEW_REGISTERS>();
        if (threadIdx.x == 0 && tiles > 0)
            load_digits(p, maps, memory, at, tiles);
    } else {
        registers_raise<Plan::MANY_REGISTERS>();
        attend_by_digits(p, memory, at, tiles);
    }
}

/* ---- heads without digits ---- */

template <typename Digits, typename Core, typename Plan>
static __global__ void __launch_bounds__(Plan::THREADS, Plan::BLOCKS)
    forward_of_marked(const forward_problem<typename Core::storage> p, const head_marks *marks) {
    const int64_t tiles = p.n.heads * ceil_div(p.n.sq, Plan::ROWS);
    for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const place at = query_place<Plan>(tile, p.n, {0, p.n.heads, 0, p.n.sk});
        if (is_marked<Digits>(marks, at.head, p.n.scale)) {
            __syncthreads(); /* all warps are done with the tile before */
            attend_tile<Core, Plan>(p, at);
        }
    }
}

#endif
