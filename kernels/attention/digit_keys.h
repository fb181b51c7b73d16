/*
 * dk and dv of attention v3_bf16x6 and v3_bf16x3, and dS, which is kept for dq (v3_slopes.h).
 *
 * A block has 64 keys and their values, all digits of both. Its two warpgroups walk along the tiles
 * of queries that see them, by turns: each has sums of dk and dv of its own, which are added at the
 * end. A tile's scores are made transposed, with the digits' products in the order of forward, so
 * that they have its bits. A ring's units have one digit of QUERIES queries or rows of do: for each
 * tile digits of the queries, the last first, then of do; where scores have numbers of their own,
 * dk's digits of the queries come behind. They are of the one warpgroup that has the tile.
 *
 * With PARTS a tile's part of dv and dk begins with a sum of 0, 64 columns at a time, and is then
 * added in fp32, to nearest. P is not kept beside its digits: it is their sum. Where registers are
 * short, a tile's terms, lse and Delta, are spread over a warp's lanes, which have them by
 * shuffles: as addresses and numbers of each lane they would take registers that sums need.
 */
#ifndef ASSAY_ATTENTION_DIGIT_KEYS_H
#define ASSAY_ATTENTION_DIGIT_KEYS_H

#include "kernels/attention/digit_plan.h"
#include "kernels/attention/digit_products.h"
#include "kernels/attention/digit_split.h"
#include "kernels/attention/v3_backward.h"

/* A thread's registers: D of dk and dv, with PARTS 32 of a part of 64 columns, QUERIES / 2 of
 * scores, QUERIES / 4 of each of their digits, and without PARTS QUERIES / 2 of do·v beside them.
 */
template <typename Digits_, int D_, int QUERIES_, int UNITS_, int COLUMNS_ = D_>
struct digit_keys_plan {
    typedef Digits_ Digits;
    static constexpr int N_DIGITS = Digits::N, SCORE_DIGITS = Digits::OF_SCORES;
    static constexpr int D = D_, COLUMNS = COLUMNS_, QUERIES = QUERIES_, UNITS = UNITS_;
    static constexpr int GROUPS = 2;
    static constexpr bool APART = SCORE_DIGITS != N_DIGITS; /* scores' digits are not dk's */
    static constexpr int TILE_UNITS = 2 * N_DIGITS + (APART ? SCORE_DIGITS : 0);
    static constexpr int OWN_UNITS = SCORE_DIGITS + N_DIGITS;
    static constexpr int ROWS = GROUP_ROWS, THREADS = (GROUPS + 1) * GROUP;
    static constexpr bool SPREADS = D > 64 || !Digits::PARTS; /* where registers are short */
    static constexpr int FEW_REGISTERS = 24, MANY_REGISTERS = 240;
    static constexpr int OWN_BYTES = ROWS * D * 2; /* a digit's */
    static constexpr int UNIT_BYTES = QUERIES * D * 2;
    static constexpr int SHARED = TENSOR_ALIGNMENT + OWN_UNITS * OWN_BYTES + UNITS * UNIT_BYTES +
                                  (2 * UNITS + 1) * (int)sizeof(uint64_t);
    static_assert(SHARED <= ASSAY_MAX_SHARED, "a block has them all");
    static_assert(UNITS >= GROUPS * TILE_UNITS, "a tile of each warpgroup");
    static_assert(2 * ROWS * D * (int)sizeof(float) <= OWN_UNITS * OWN_BYTES + UNITS * UNIT_BYTES,
                  "sums of one warpgroup have room where all that was");
};

/* The block's shared memory. */
template <typename Plan> struct digit_keys_memory {
    unsigned char *base;

    __device__ __forceinline__ unsigned char *keys(int digit) const {
        return base + digit * Plan::OWN_BYTES;
    }
    __device__ __forceinline__ unsigned char *values(int digit) const {
        return keys(Plan::SCORE_DIGITS + digit);
    }
    __device__ __forceinline__ unsigned char *unit(int i) const {
        return keys(Plan::OWN_UNITS) + i * Plan::UNIT_BYTES;
    }
    __device__ __forceinline__ uint64_t *full(int i) const {
        return reinterpret_cast<uint64_t *>(unit(Plan::UNITS)) + i;
    }
    __device__ __forceinline__ uint64_t *empty(int i) const {
        return full(Plan::UNITS) + i;
    }
    __device__ __forceinline__ uint64_t *own_full() const {
        return empty(Plan::UNITS);
    }
};

struct digit_keys_maps {
    tensor_map q, k, v, dout;
};

/* Tiles of queries from `begin` to `end`. */
struct digit_walk {
    place at;
    int begin, end;
};

template <typename Plan>
static __device__ __forceinline__ digit_walk digit_walk_of(const backward_problem<float> &p,
                                                           int64_t block) {
    const int64_t tiles = ceil_div(p.part.keys, Plan::ROWS);
    const turn_of_walks turn = turn_of_walk(block, p.n, p.part.heads, tiles);
    const place at = {p.part.head + turn.head, p.part.key + turn.tile * Plan::ROWS};
    return {at, (int)(first_query(p.n, at.row) / Plan::QUERIES),
            (int)ceil_div(p.n.sq, Plan::QUERIES)};
}

/* ---- the loading thread ---- */

template <typename Plan>
static __device__ __forceinline__ void
load_for_keys(const backward_problem<float> &p, const digit_keys_maps &maps,
              const digit_keys_memory<Plan> &memory, const digit_walk &walk) {
    ring_place<Plan::UNITS> ring = {0, 0};
    const auto plane = [&](int digit) { return digit * p.n.heads + walk.at.head; };
    mbarrier_expect(memory.own_full(), Plan::OWN_UNITS * Plan::OWN_BYTES);
    for (int i = 0; i < Plan::OWN_UNITS; ++i) {
        const bool is_key = i < Plan::SCORE_DIGITS;
        load_lines<Plan::D, Plan::ROWS>(memory.keys(i), is_key ? &maps.k : &maps.v, walk.at.row,
                                        plane(is_key ? i : i - Plan::SCORE_DIGITS),
                                        memory.own_full());
    }
    UNROLL_BY(1)
    for (int i = walk.begin * Plan::TILE_UNITS; i < walk.end * Plan::TILE_UNITS; ++i) {
        const int tile = i / Plan::TILE_UNITS, unit = i % Plan::TILE_UNITS;
        uint64_t *const full = memory.full(ring.stage);
        mbarrier_wait(memory.empty(ring.stage), ring.round ^ 1);
        mbarrier_expect(full, Plan::UNIT_BYTES);
        const bool is_score = unit < Plan::SCORE_DIGITS;
        const int behind = unit - Plan::SCORE_DIGITS; /* do, then q */
        load_lines<Plan::D, Plan::QUERIES>(
            memory.unit(ring.stage), is_score || behind >= Plan::N_DIGITS ? &maps.q : &maps.dout,
            (int64_t)tile * Plan::QUERIES,
            plane(is_score                  ? Plan::SCORE_DIGITS - 1 - unit
                  : behind < Plan::N_DIGITS ? Plan::N_DIGITS - 1 - behind
                                            : Plan::SCORE_DIGITS + 2 * Plan::N_DIGITS - 1 - behind),
            full);
        ring.next();
    }
}

/* ---- a warpgroup ---- */

/* A thread's sums, 64 columns each. */
template <typename Plan> struct digit_gradients {
    static constexpr int BOXES = Plan::D / BOX;
    hopper_sums<BOX> dk[BOXES], dv[BOXES];
};

/* sums += p b: p's digits in registers, b's in three units of QUERIES lines. */
template <int QUERIES, int N_DIGITS, int BOXES, typename Address>
static __device__ __forceinline__ void
add_digit_product(hopper_sums<BOX> (&sums)[BOXES], const uint32_t (&p)[N_DIGITS][QUERIES / STEP][4],
                  Address address) {
    UNROLL
    for (int box = 0; box < BOXES; ++box) {
        hopper_sums<BOX> part;
        wgmma_fence();
        digit_products<N_DIGITS>([&](int g, int h, bool first) {
            multiply_values(part, p[g], address(h) + box * QUERIES * TENSOR_LINE_BYTES, first);
        });
        wgmma_commit();
        wgmma_wait<0>();
        wgmma_results(part.value);
        UNROLL
        for (int i = 0; i < BOX / 2; ++i)
            sums[box].value[i] += part.value[i];
    }
}

/* dS of a warp's keys and a tile of queries, as v3_slopes.h has it. */
template <int N>
static __device__ __forceinline__ void keep_digits(hopper_sums<N> &ds,
                                                   const backward_problem<float> &p, int64_t head,
                                                   int64_t key, int64_t query) {
    const int wide = (int)clamp(p.kept.stride - query, 0, N);
    UNROLL
    for (int r = 0; r < 2; ++r) {
        const int64_t line = key + tensor_core<float>::row(r);
        if (line >= p.n.sk)
            continue;
        float *const to =
            p.kept.data +
            (((head - p.part.head) * p.kept.lines + line - p.part.key) * p.kept.stride + query);
        UNROLL
        for (int c = 0; c < hopper_sums<N>::WIDTH; c += 2) {
            const int column = tensor_core<float>::score_column(c);
            if (column < wide)
                *reinterpret_cast<float2 *>(to + column) = {ds.at(r, c), ds.at(r, c + 1)};
        }
    }
}

/* The same, begun, without a sum of the tile's own. */
template <int QUERIES, int N_DIGITS, int BOXES, typename Address>
static __device__ __forceinline__ void
start_digit_product(hopper_sums<BOX> (&sums)[BOXES],
                    const uint32_t (&p)[N_DIGITS][QUERIES / STEP][4], Address address) {
    wgmma_fence();
    UNROLL
    for (int box = 0; box < BOXES; ++box)
        digit_products<N_DIGITS>([&](int g, int h, bool) {
            multiply_values(sums[box], p[g], address(h) + box * QUERIES * TENSOR_LINE_BYTES, false);
        });
    wgmma_commit();
}
template <int BOXES>
static __device__ __forceinline__ void sums_are_there(hopper_sums<BOX> (&sums)[BOXES]) {
    UNROLL
    for (int box = 0; box < BOXES; ++box)
        wgmma_results(sums[box].value);
}

template <typename Plan>
static __device__ __forceinline__ void
add_digit_tile(const backward_problem<float> &p, const digit_keys_memory<Plan> &memory, place at,
               int64_t first, int64_t query, const ring_place<Plan::UNITS> &ring,
               digit_gradients<Plan> &sums) {
    constexpr int N = Plan::QUERIES, N_DIGITS = Plan::N_DIGITS;
    constexpr int SCORE_DIGITS = Plan::SCORE_DIGITS;
    /* of the queries, for scores 0, and for dk 2, or do, 1 */
    const auto digits_in = [](int which) { return which == 0 ? SCORE_DIGITS : N_DIGITS; };
    const auto unit = [&](int which, int digit) {
        const int begin = which == 0    ? 0
                          : which == 1  ? SCORE_DIGITS
                          : Plan::APART ? SCORE_DIGITS + N_DIGITS
                                        : 0;
        return units_behind(ring, begin + digits_in(which) - 1 - digit);
    };
    const auto wait = [&](int which) {
        UNROLL
        for (int digit = digits_in(which) - 1; digit >= 0; --digit)
            mbarrier_wait(memory.full(unit(which, digit).stage), unit(which, digit).round);
    };
    const auto release = [&](int which) {
        if (leads_group()) {
            UNROLL
            for (int digit = digits_in(which) - 1; digit >= 0; --digit)
                mbarrier_arrive(memory.empty(unit(which, digit).stage));
        }
    };
    const auto address = [&](int which, int digit) {
        return shared_address(memory.unit(unit(which, digit).stage));
    };
    /* The tile's terms, spread over the lanes, or each column's where it is needed. */
    const float2 *const of_tile = row(p.terms, at.head) + query;
    const int last = (int)clamp(p.n.sq - 1 - query, 0, N - 1);
    float2 terms[N / WARP];
    UNROLL
    for (int i = 0; Plan::SPREADS && i < N / WARP; ++i)
        terms[i] = of_tile[lane() + i * WARP < last ? lane() + i * WARP : last];
    const auto term = [&](int c, float float2::*which) {
        if constexpr (Plan::SPREADS) {
            const int column = tensor_core<float>::score_column(c % (WARP / 4));
            return __shfl_sync(UINT32_MAX, terms[c / (WARP / 4)].*which, column);
        } else {
            const int column = tensor_core<float>::score_column(c);
            return of_tile[column < last ? column : last].*which;
        }
    };
    /* So that descriptors are made where they are used, and not kept. */
    const uint32_t own = made_anew(shared_address(memory.base));
    const auto keys = [&](int digit) { return own + digit * Plan::OWN_BYTES; };
    const auto values = [&](int digit) { return keys(SCORE_DIGITS + digit); };
    uint32_t digits[N_DIGITS][N / STEP][4];
    const auto weigh = [&](hopper_sums<N> &s) {
        UNROLL
        for (int c = 0; c < s.WIDTH; ++c) {
            const float lse = term(c, &float2::x);
            UNROLL
            for (int r = 0; r < 2; ++r)
                s.at(r, c) = weight(s.at(r, c), p.n.scale * SCORE_UNIT<typename Plan::Digits>, lse);
        }
        if (query + N > p.n.sq || query < first_query(p.n, first + 15))
            hide_queries<tensor_core<float>>(s, p.n, first, query);
        split_sums(digits, s);
    };
    const auto differentiate = [&](hopper_sums<N> &ds) {
        UNROLL
        for (int c = 0; c < ds.WIDTH; ++c) {
            const float delta = term(c, &float2::y);
            UNROLL
            for (int r = 0; r < 2; ++r) {
                const int step = c / 4, i = c / 2 % 2 * 2 + r; /* as split_sums() has it */
                ds.at(r, c) = joined(digits, step, i, c % 2 == 1) * (ds.at(r, c) - delta);
            }
        }
        keep_digits(ds, p, at.head, first, query);
    };
    static_assert(!Plan::Digits::PARTS || !Plan::APART, "scores' own digits");
    if constexpr (!Plan::Digits::PARTS) {
        sliced_sums<Plan::COLUMNS, N, SCORE_DIGITS> scores;
        sliced_sums<Plan::COLUMNS, N, N_DIGITS> slopes;
        wait(0);
        wgmma_fence();
        digit_products<SCORE_DIGITS>(
            [&](int g, int h, bool begins) { scores.multiply(keys(h), address(0, g), begins); });
        wgmma_commit();
        wait(1);
        digit_products<N_DIGITS>(
            [&](int g, int h, bool begins) { slopes.multiply(values(g), address(1, h), begins); });
        wgmma_commit();
        wgmma_wait<1>();
        if (Plan::APART)
            release(0);
        weigh(scores.total());
        start_digit_product<N>(sums.dv, digits, [&](int digit) { return address(1, digit); });
        wgmma_wait<1>();
        hopper_sums<N> &ds = slopes.total();
        differentiate(ds);
        wgmma_wait<0>();
        sums_are_there(sums.dv);
        release(1);
        split_sums(digits, ds);
        if (Plan::APART)
            wait(2);
        start_digit_product<N>(sums.dk, digits, [&](int digit) { return address(2, digit); });
        wgmma_wait<0>();
        sums_are_there(sums.dk);
        release(2);
        return;
    }
    {
        sliced_sums<Plan::COLUMNS, N, N_DIGITS> scores;
        wait(0);
        wgmma_fence();
        /* g is of the queries, as in forward. */
        digit_products<N_DIGITS>(
            [&](int g, int h, bool begins) { scores.multiply(keys(h), address(0, g), begins); });
        wgmma_commit();
        wgmma_wait<0>();
        weigh(scores.total());
    }
    wait(1);
    add_digit_product<N, N_DIGITS>(sums.dv, digits, [&](int digit) { return address(1, digit); });
    sliced_sums<Plan::COLUMNS, N, N_DIGITS> slopes;
    wgmma_fence();
    digit_products<N_DIGITS>(
        [&](int g, int h, bool begins) { slopes.multiply(values(g), address(1, h), begins); });
    wgmma_commit();
    wgmma_wait<0>();
    hopper_sums<N> &ds = slopes.total();
    release(1);
    differentiate(ds);
    split_sums(digits, ds);
    add_digit_product<N, N_DIGITS>(sums.dk, digits, [&](int digit) { return address(2, digit); });
    release(2);
}

/* The second warpgroup's sums, by way of shared memory, are added to the first one's. */
template <typename Plan>
static __device__ __forceinline__ void join_groups(const digit_keys_memory<Plan> &memory, int group,
                                                   digit_gradients<Plan> &sums) {
    constexpr int BOXES = digit_gradients<Plan>::BOXES;
    float *const left = reinterpret_cast<float *>(memory.base) + threadIdx.x % GROUP;
    barrier_sync(1, 2 * GROUP); /* keys and values are no longer needed */
    if (group == 1) {
        UNROLL
        for (int box = 0; box < BOXES; ++box) {
            UNROLL
            for (int i = 0; i < BOX / 2; ++i) {
                left[(box * BOX + i) * GROUP] = sums.dk[box].value[i];
                left[(box * BOX + BOX / 2 + i) * GROUP] = sums.dv[box].value[i];
            }
        }
    }
    barrier_sync(1, 2 * GROUP);
    if (group == 1)
        return;
    UNROLL
    for (int box = 0; box < BOXES; ++box) {
        UNROLL
        for (int i = 0; i < BOX / 2; ++i) {
            sums.dk[box].value[i] += left[(box * BOX + i) * GROUP];
            sums.dv[box].value[i] += left[(box * BOX + BOX / 2 + i) * GROUP];
        }
    }
}

template <typename Plan>
static __device__ __forceinline__ void walk_digits(const backward_problem<float> &p,
                                                   const digit_keys_memory<Plan> &memory,
                                                   const digit_walk &walk) {
    constexpr int BOXES = digit_gradients<Plan>::BOXES;
    const int warp = uniform_warp() - GROUP_WARPS, group = warp / GROUP_WARPS;
    const int64_t first = walk.at.row + warp % GROUP_WARPS * 16; /* the warp's */
    ring_place<Plan::UNITS> ring = {group * Plan::TILE_UNITS, 0};
    digit_gradients<Plan> sums;
    UNROLL
    for (int box = 0; box < BOXES; ++box) {
        UNROLL
        for (int i = 0; i < BOX / 2; ++i)
            sums.dk[box].value[i] = sums.dv[box].value[i] = 0;
    }
    mbarrier_wait(memory.own_full(), 0);
    UNROLL_BY(1)
    for (int tile = walk.begin + group; tile < walk.end; tile += Plan::GROUPS) {
        add_digit_tile<Plan>(p, memory, walk.at, first, (int64_t)tile * Plan::QUERIES, ring, sums);
        ring = units_behind(ring, Plan::GROUPS * Plan::TILE_UNITS);
    }
    join_groups(memory, group, sums);
    if (group == 1)
        return;
    UNROLL
    for (int box = 0; box < BOXES; ++box) {
        store<tensor_core<float>>(sums.dv[box], head_of(p.dv, walk.at.head), first, box * BOX,
                                  [](int, float sum) { return sum; });
        store<tensor_core<float>>(sums.dk[box], head_of(p.dk, walk.at.head), first, box * BOX,
                                  [&](int, float sum) { return sum * p.n.scale; });
    }
}

template <typename Plan>
static __global__ void __launch_bounds__(Plan::THREADS, 1)
    gradients_on_digits(const backward_problem<float> p, const head_marks *marks,
                        const __grid_constant__ digit_keys_maps maps) {
    ASSAY_DYNAMIC_SHARED(unsigned char, shared);
    const digit_walk walk = digit_walk_of<Plan>(p, blockIdx.x);
    if (is_marked<typename Plan::Digits>(marks, walk.at.head, p.n.scale))
        return;
    const digit_keys_memory<Plan> memory = {shared +
                                            (0 - shared_address(shared)) % TENSOR_ALIGNMENT};
    if (threadIdx.x == 0) {
        tensor_map_prefetch(&maps.q);
        tensor_map_prefetch(&maps.k);
        tensor_map_prefetch(&maps.v);
        tensor_map_prefetch(&maps.dout);
        for (int i = 0; i < Plan::UNITS; ++i) {
            mbarrier_init(memory.full(i), 1);
            mbarrier_init(memory.empty(i), 1);
        }
        mbarrier_init(memory.own_full(), 1);
        mbarriers_made();
    }
    __syncthreads();
    if (threadIdx.x < GROUP) {
        registers_lower<Plan::FEW_REGISTERS>();
        if (threadIdx.x == 0)
            load_for_keys(p, maps, memory, walk);
    } else {
        registers_raise<Plan::MANY_REGISTERS>();
        walk_digits(p, memory, walk);
    }
}

/* ---- heads without digits ---- */

template <typename Digits, typename Core, typename Plan>
static __global__ void __launch_bounds__(Plan::THREADS, Plan::BLOCKS)
    keys_of_marked(const backward_problem<typename Core::storage> p, const head_marks *marks) {
    const int64_t tiles = p.part.heads * ceil_div(p.part.keys, Plan::ROWS) * Plan::PARTS;
    for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const place at = key_place<Plan>(tile / Plan::PARTS, p.part);
        if (is_marked<Digits>(marks, at.head, p.n.scale)) {
            __syncthreads(); /* all warps are done with the tile before */
            add_queries<Core, Plan>(p, at, (int)(tile % Plan::PARTS) * Plan::COLUMNS);
        }
    }
}

#endif
