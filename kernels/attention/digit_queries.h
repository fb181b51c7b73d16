/*
 * dq of attention v3_bf16x6 and v3_bf16x3, from dS as digit_keys.h keeps it, a part at a time. A
 * block has a tile of queries and walks along the keys that they see, whose digits come as in
 * forward. A thread loads dS of a tile of keys while the one before is multiplied, and splits it in
 * registers.
 */
#ifndef ASSAY_ATTENTION_DIGIT_QUERIES_H
#define ASSAY_ATTENTION_DIGIT_QUERIES_H

#include "kernels/attention/digit_forward.h"
#include "kernels/attention/v3_backward.h"

/* As digit_plan has them, without queries in shared memory. */
template <typename Digits_, int D_, int KEYS_, int UNITS_, int COLUMNS_ = D_>
struct digit_queries_plan {
    typedef Digits_ Digits;
    static constexpr int N_DIGITS = Digits::N;
    static constexpr int D = D_, COLUMNS = COLUMNS_, GROUPS = 2, KEYS = KEYS_, UNITS = UNITS_;
    static constexpr int ROWS = GROUPS * GROUP_ROWS, THREADS = (GROUPS + 1) * GROUP;
    static constexpr int FEW_REGISTERS = 24, MANY_REGISTERS = 240;
    static constexpr int UNIT_BYTES = KEYS * D * 2;
    static constexpr int SHARED =
        TENSOR_ALIGNMENT + UNITS * UNIT_BYTES + 2 * UNITS * (int)sizeof(uint64_t);
    static_assert(SHARED <= ASSAY_MAX_SHARED, "a block has them all");
};

template <typename Plan> struct digit_queries_memory {
    unsigned char *base;

    __device__ __forceinline__ unsigned char *unit(int i) const {
        return base + i * Plan::UNIT_BYTES;
    }
    __device__ __forceinline__ uint64_t *full(int i) const {
        return reinterpret_cast<uint64_t *>(unit(Plan::UNITS)) + i;
    }
    __device__ __forceinline__ uint64_t *empty(int i) const {
        return full(Plan::UNITS) + i;
    }
};

/* dS of this thread's two rows; 0 where a query does not see a key of the part. */
struct kept_rows {
    const float *first; /* of the part's first key */
    int64_t stride;
    int seen[2]; /* keys of the part */

    __device__ __forceinline__ kept_rows(const backward_problem<float> &p, int64_t head,
                                         int64_t query)
        : first(p.kept.data + (head - p.part.head) * p.kept.lines * p.kept.stride + query +
                tensor_core<float>::row(0)),
          stride(p.kept.stride) {
        UNROLL
        for (int r = 0; r < 2; ++r) {
            const int64_t own = query + tensor_core<float>::row(r);
            seen[r] =
                own < p.n.sq ? (int)clamp(visible_keys(p.n, own) - p.part.key, 0, p.part.keys) : 0;
        }
    }

    template <int N> __device__ __forceinline__ void load(int key, hopper_sums<N> &ds) const {
        UNROLL
        for (int c = 0; c < hopper_sums<N>::WIDTH; ++c) {
            const int line = key + tensor_core<float>::score_column(c);
            const float *const from = first + line * stride;
            UNROLL
            for (int r = 0; r < 2; ++r)
                ds.at(r, c) = line < seen[r]
                                  ? from[tensor_core<float>::row(r) - tensor_core<float>::row(0)]
                                  : 0;
        }
    }
};

template <typename Plan>
static __device__ __forceinline__ void
load_for_queries(const backward_problem<float> &p, const tensor_map &map,
                 const digit_queries_memory<Plan> &memory, place at, int tiles) {
    ring_place<Plan::UNITS> ring = {0, 0};
    UNROLL_BY(1)
    for (int tile = 0; tile < tiles; ++tile) {
        UNROLL_BY(1)
        for (int digit = Plan::N_DIGITS - 1; digit >= 0; --digit) {
            uint64_t *const full = memory.full(ring.stage);
            mbarrier_wait(memory.empty(ring.stage), ring.round ^ 1);
            mbarrier_expect(full, Plan::UNIT_BYTES);
            load_lines<Plan::D, Plan::KEYS>(
                memory.unit(ring.stage), &map, p.part.key + (int64_t)tile * Plan::KEYS,
                (Plan::Digits::FIRST + digit) * p.n.heads + at.head, full);
            ring.next();
        }
    }
}

template <typename Plan>
static __device__ __forceinline__ void add_kept(const backward_problem<float> &p,
                                                const digit_queries_memory<Plan> &memory, place at,
                                                int tiles) {
    constexpr int N = Plan::KEYS, N_DIGITS = Plan::N_DIGITS;
    const int warp = uniform_warp() - GROUP_WARPS, group = warp / GROUP_WARPS;
    const int64_t first = at.row + group * GROUP_ROWS + warp % GROUP_WARPS * 16; /* the warp's */
    const sequence<float> out = head_of(p.dq, at.head);
    const bool begun = p.part.key > 0, ends = p.part.key + p.part.keys == p.n.sk;
    const float factor = ends ? p.n.scale : 1;
    const kept_rows rows(p, at.head, first);
    ring_place<Plan::UNITS> ring = {0, 0};
    hopper_sums<Plan::COLUMNS> dq;
    hopper_sums<N> ds;
    const auto each_element = [&](auto visit) {
        UNROLL
        for (int r = 0; r < 2; ++r) {
            const int64_t query = first + tensor_core<float>::row(r);
            UNROLL
            for (int c = 0; c < dq.WIDTH; ++c) {
                const int column = tensor_core<float>::score_column(c);
                if (query < p.n.sq && column < out.d)
                    visit(dq.at(r, c), out.data[query * out.stride + column]);
            }
        }
    };
    UNROLL
    for (int i = 0; i < Plan::COLUMNS / 2; ++i)
        dq.value[i] = 0;
    if (begun)
        each_element([](float &sum, float &before) { sum = before; });
    if (group == 1)
        give_digit_turn(group);
    rows.load(0, ds);
    UNROLL_BY(1)
    for (int tile = 0; tile < tiles; ++tile) {
        uint32_t digits[N_DIGITS][N / STEP][4];
        hopper_sums<Plan::COLUMNS> part_, &part = Plan::Digits::PARTS ? part_ : dq;
        split_sums(digits, ds);
        rows.load((tile + 1) * N, ds);
        const auto unit = [&](int digit) { return units_behind(ring, N_DIGITS - 1 - digit); };
        stream_products<N_DIGITS>(
            [&](int digit) { mbarrier_wait(memory.full(unit(digit).stage), unit(digit).round); },
            [&](int g, int h, bool begins) {
                multiply_values(part, digits[g], shared_address(memory.unit(unit(h).stage)),
                                begins && Plan::Digits::PARTS);
            },
            [&](int digit) {
                if (leads_group())
                    mbarrier_arrive(memory.empty(unit(digit).stage));
            },
            group);
        wgmma_results(part.value);
        if constexpr (Plan::Digits::PARTS) {
            UNROLL
            for (int i = 0; i < Plan::COLUMNS / 2; ++i)
                dq.value[i] += part.value[i];
        }
        ring = units_behind(ring, N_DIGITS);
    }
    if (group == 0)
        take_digit_turn(group);
    each_element([&](float &sum, float &to) { to = sum * factor; });
}

template <typename Plan>
static __global__ void __launch_bounds__(Plan::THREADS, 1)
    queries_on_digits(const backward_problem<float> p, const head_marks *marks,
                      const __grid_constant__ tensor_map keys) {
    ASSAY_DYNAMIC_SHARED(unsigned char, shared);
    place at = digit_place<Plan>(blockIdx.x, p.n, p.part.heads);
    at.head += p.part.head;
    if (is_marked<typename Plan::Digits>(marks, at.head, p.n.scale))
        return;
    const digit_queries_memory<Plan> memory = {shared +
                                               (0 - shared_address(shared)) % TENSOR_ALIGNMENT};
    const int64_t seen = clamp(keys_in_reach(p.n, at.row, Plan::ROWS) - p.part.key, 0, p.part.keys);
    const int tiles = (int)ceil_div(seen, Plan::KEYS);
    if (threadIdx.x == 0) {
        tensor_map_prefetch(&keys);
        for (int i = 0; i < Plan::UNITS; ++i) {
            mbarrier_init(memory.full(i), 1);
            mbarrier_init(memory.empty(i), Plan::GROUPS);
        }
        mbarriers_made();
    }
    __syncthreads();
    if (threadIdx.x < GROUP) {
        registers_lower<Plan::FEW_REGISTERS>();
        if (threadIdx.x == 0)
            load_for_queries(p, keys, memory, at, tiles);
    } else {
        registers_raise<Plan::MANY_REGISTERS>();
        add_kept(p, memory, at, tiles);
    }
}

/* ---- heads without digits ---- */

template <typename Digits, typename Plan>
static __global__ void __launch_bounds__(Plan::THREADS, Plan::BLOCKS)
    queries_of_marked(const backward_problem<float> p, const head_marks *marks) {
    const int64_t tiles = p.part.heads * ceil_div(p.n.sq, Plan::ROWS);
    for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const place at = query_place<Plan>(tile, p.n, p.part);
        if (is_marked<Digits>(marks, at.head, p.n.scale)) {
            __syncthreads(); /* all warps are done with the tile before */
            add_slopes<Plan>(p.n, p.part, p.kept, p.k, p.dq, at);
        }
    }
}

#endif
