/*
 * Backward of attention v3_hopper: all gradients in one walk of each tile of keys along the
 * queries that see it. A step, of a tile of queries:
 *
 *     Sᵀ = k qᵀ          began in the step before    Pᵀ while dPᵀ is multiplied
 *     dPᵀ = v doᵀ                                    dSᵀ while dv is
 *     dv += Pᵀ do        Pᵀ from registers
 *     dq = dS k          dSᵀ through shared memory   to shared memory while dk is multiplied,
 *     dk += dSᵀ q        dSᵀ from registers          and the next Sᵀ
 */
#ifndef ASSAY_ATTENTION_HOPPER_BACKWARD_H
#define ASSAY_ATTENTION_HOPPER_BACKWARD_H

#include "kernels/attention/hopper_backward_plan.h"
#include "kernels/common/special.h"

struct backward_maps {
    tensor_map q, k, v, dout, terms; /* terms: lines of 16 queries' lse and Δ */
};

template <typename T> struct backward_on_hopper {
    sizes n;
    head_groups groups;
    result_rows<T> dq, dk, dv;
    float *sums;      /* of dq: a thread's four beside those of its neighbours */
    unsigned *counts; /* of links, for each tile of queries of each head */
    unsigned *draw;
    unsigned *lost; /* whether a sum of any head is */
};

/*
 * Links are added as multiples of LINK_SCALE. Additions in memory take subnormal numbers for 0.
 * Times 2^23, every fp32 number is a multiple of 2^-126, as are sums of such numbers: none is
 * subnormal. Products of f16 are multiples of 2^-48 as they are. A sum beyond 2^105 becomes Inf or
 * NaN, and remains so: the last link says in the chain's count that it is LOST, and dq is made
 * again (hopper_again.h).
 */
template <typename T>
static constexpr float LINK_SCALE = std::is_same_v<T, __half> ? 1.0f : 0x1p23f;
static constexpr unsigned LOST = 1u << 31;

static constexpr float LOG2_E = 0x1.715476p+0f;
static constexpr int TERM_QUERIES = TENSOR_LINE_BYTES / (int)sizeof(float2); /* of a line */

/* ---- single threads ---- */

template <typename Plan>
static __device__ __forceinline__ void load_walk(const backward_maps &maps,
                                                 const backward_memory<Plan> &memory,
                                                 const backward_walk &walk) {
    constexpr int D = Plan::D, QUERIES = Plan::QUERIES;
    const int64_t head = walk.at.head;
    mbarrier_expect(memory.own_full(), 2 * Plan::OWN_BYTES);
    load_lines<D, Plan::ROWS>(memory.keys(), &maps.k, walk.at.row, head, memory.own_full());
    load_lines<D, Plan::ROWS>(memory.values(), &maps.v, walk.at.row, head, memory.own_full());
    ring_place<Plan::STAGES> ring = {0, 0};
    UNROLL_BY(1)
    for (int step = 0; step < walk.steps; ++step) {
        const int64_t query = (int64_t)walk.tile(step) * QUERIES;
        uint64_t *const queries_full = memory.queries_full(ring.stage);
        uint64_t *const cotangents_full = memory.cotangents_full(ring.stage);
        mbarrier_wait(memory.queries_empty(ring.stage), ring.round ^ 1);
        mbarrier_expect(queries_full, Plan::STAGE_BYTES);
        load_lines<D, QUERIES>(memory.queries(ring.stage), &maps.q, query, head, queries_full);
        mbarrier_wait(memory.cotangents_empty(ring.stage), ring.round ^ 1);
        mbarrier_expect(cotangents_full, Plan::STAGE_BYTES + Plan::TERM_BYTES);
        load_lines<D, QUERIES>(memory.cotangents(ring.stage), &maps.dout, query, head,
                               cotangents_full);
        tensor_load(memory.terms(ring.stage), &maps.terms, 0, (int32_t)(query / TERM_QUERIES),
                    (int32_t)head, cotangents_full);
        ring.next();
    }
}

/* Until so many links are complete; copies that begin behind it see them. */
static __device__ __forceinline__ void await_links(unsigned *count, int links) {
    while (links > 0 && atomicAdd(count, 0u) < (unsigned)links)
        continue;
    __threadfence();
    fence_proxy_async_global();
}

/* A link's sums in memory. */
template <typename Plan, typename T>
static __device__ __forceinline__ float *sums_of(const backward_on_hopper<T> &p,
                                                 const chain_link &link) {
    return p.sums + (int64_t)link.tile * Plan::SUMS;
}

/* Gives the slot to the warpgroups: free, or with the sums of the links before the last one, which
 * are complete. */
template <typename Plan, typename T>
static __device__ __forceinline__ void open_link(const backward_on_hopper<T> &p,
                                                 const link_slot &slot, const chain_link &link) {
    *slot.before = link.last ? link.before : NOT_LAST;
    if (!link.last || link.before == 0) {
        mbarrier_arrive(slot.ready);
        return;
    }
    mbarrier_expect(slot.ready, Plan::LINK_BYTES);
    bulk_load(slot.sums, sums_of<Plan>(p, link), Plan::LINK_BYTES, slot.ready);
}

/* Adds the block's link, which is not the last one, until shared memory is read. */
template <typename Plan, typename T>
static __device__ __forceinline__ void add_link(const backward_on_hopper<T> &p,
                                                const link_slot &slot, const chain_link &link) {
    float *const sums = sums_of<Plan>(p, link);
    if (link.before == 0)
        bulk_store(sums, slot.sums, Plan::LINK_BYTES);
    else
        bulk_add(sums, reinterpret_cast<const float *>(slot.sums), Plan::LINK_BYTES);
    bulk_commit();
    bulk_wait_read<0>();
}

/* Counts the link once it is complete. */
static __device__ __forceinline__ void count_link(unsigned *count) {
    bulk_wait<0>();
    __threadfence();
    atomicAdd(count, 1u);
}

/* Until the warpgroups have used a step's link. */
template <typename Plan>
static __device__ __forceinline__ void await_warps(const backward_memory<Plan> &memory, int step) {
    mbarrier_wait(memory.link_done(step % 2), (uint32_t)step / 2 % 2);
}

/* Every other step's links, from step `first` on; each opens the next step's. A walk that has last
 * links ends with them. */
template <typename Plan, typename T>
static __device__ __forceinline__ void pass_links(const backward_on_hopper<T> &p,
                                                  const backward_memory<Plan> &memory,
                                                  const backward_walk &walk, int first) {
    if (first == 0) {
        const chain_link opened = link_at<Plan>(p.n, walk, 0);
        if (opened.last)
            await_links(p.counts + opened.tile, opened.before);
        open_link<Plan>(p, memory.slot(), opened);
    }
    UNROLL_BY(1)
    for (int step = first; step < walk.steps; step += 2) {
        const chain_link link = link_at<Plan>(p.n, walk, step);
        chain_link next = {};
        if (step + 1 < walk.steps)
            next = link_at<Plan>(p.n, walk, step + 1);
        if (!link.last) {
            await_links(p.counts + link.tile, link.before);
            await_warps(memory, step);
            add_link<Plan>(p, memory.slot(), link);
            if (!next.last)
                open_link<Plan>(p, memory.slot(), next);
            count_link(p.counts + link.tile);
        }
        if (next.last)
            await_links(p.counts + next.tile, next.before);
        if (link.last)
            await_warps(memory, step);
        if (next.last)
            open_link<Plan>(p, memory.slot(), next);
    }
}

/* ---- a warpgroup ---- */

/*
 * A thread's places in boxes as a copy leaves them, behind `base`. Piece p of line l lies
 * at p ^ l % 8: what differs between a thread's places is a constant that is xored into the offset.
 */
struct box_places {
    unsigned char *base;
    int offset; /* of the thread's own line and piece */

    __device__ __forceinline__ unsigned char *at(int line, int piece) const {
        return base + (offset ^ piece * PACK_BYTES) + line * TENSOR_LINE_BYTES;
    }
};

/* lse and Δ of the two queries that begin at column 8 i + 2 t of a tile; `terms` begin at piece t
 * of line 0. */
static __device__ __forceinline__ float4 terms_at(const box_places &terms, int i) {
    const int line = i / 2;
    return *reinterpret_cast<const float4 *>(terms.at(line, i % 2 * 4 ^ line % 8));
}

/* P of a product k·q, as in v3 (v3_backward.h), by the special function unit. */
static __device__ __forceinline__ float weight_here(float product, float scale, float lse) {
    return ex2_here((product * scale - lse) * LOG2_E);
}

template <int N>
static __device__ __forceinline__ void make_weights(hopper_sums<N> &s, const box_places &terms,
                                                    float scale) {
    UNROLL
    for (int i = 0; i < N / 8; ++i) {
        const float4 of = terms_at(terms, i);
        UNROLL
        for (int r = 0; r < 2; ++r) {
            s.at(r, 2 * i) = weight_here(s.at(r, 2 * i), scale, of.x);
            s.at(r, 2 * i + 1) = weight_here(s.at(r, 2 * i + 1), scale, of.z);
        }
    }
}

/* ds, which has dP, becomes dS. */
template <int N>
static __device__ __forceinline__ void make_slopes(hopper_sums<N> &ds, const hopper_sums<N> &s,
                                                   const box_places &terms) {
    UNROLL
    for (int i = 0; i < N / 8; ++i) {
        const float4 of = terms_at(terms, i);
        UNROLL
        for (int r = 0; r < 2; ++r) {
            float *const here = &ds.value[4 * i + 2 * r];
            const float *const weights = &s.value[4 * i + 2 * r];
            here[0] = weights[0] * (here[0] - of.y);
            here[1] = weights[1] * (here[1] - of.w);
        }
    }
}

/* The first query that sees a key; sq where there is no such key. */
static __device__ __forceinline__ int seen_from(const sizes &n, int64_t key) {
    return (int)(key < n.sk ? first_query(n, key) : n.sq);
}

/* Elements become 0 where a query, of which `query` is the tile's first, does not see the thread's
 * key of the row, which is seen from seen[r] on, or is none of the `all`: its line of zeros times a
 * key that is not finite is NaN. */
template <typename Core, typename Scores>
static __device__ __forceinline__ void hide_unseen(Scores &s, const int seen[2], int query,
                                                   int all) {
    UNROLL
    for (int r = 0; r < 2; ++r) {
        UNROLL
        for (int c = 0; c < Scores::WIDTH; ++c)
            if (Core::score_column(c) < seen[r] - query || Core::score_column(c) >= all - query)
                s.at(r, c) = 0;
    }
}

/* dSᵀ, rounded, to shared memory; `to` begins at the line of the thread's first key, at the piece
 * of that line's number. */
template <int STEPS>
static __device__ __forceinline__ void share_slopes(const box_places &to, int box_lines,
                                                    const uint32_t (&slopes)[STEPS][4]) {
    UNROLL
    for (int i = 0; i < 2 * STEPS; ++i) {
        UNROLL
        for (int r = 0; r < 2; ++r)
            *reinterpret_cast<uint32_t *>(to.at(i / 8 * box_lines + 8 * r, i % 8)) =
                slopes[i / 2][i % 2 * 2 + r];
    }
}

/* dq = dS k begins: 64 queries, at most 64 columns. */
template <typename Plan, typename T, int N>
static __device__ __forceinline__ void start_dq(hopper_sums<N> &dq, uint32_t slopes,
                                                uint32_t keys) {
    const uint64_t left = wgmma_descriptor(slopes, 0), right = wgmma_descriptor(keys, 0);
    UNROLL
    for (int i = 0; i < Plan::ROWS / STEP; ++i)
        wgmma<T, true, true>(dq.value, left + i * LINE_STEP, right + i * LINE_STEP, i > 0);
    wgmma_commit();
}

/* Read by the lane that arrives behind it: racecheck does not see what __syncwarp() orders. */
static __device__ __forceinline__ int links_before(const link_slot &slot) {
    return __shfl_sync(UINT32_MAX, lane() == 0 ? *slot.before : 0, 0);
}

/* A group's 64 x N elements of a link, to the slot of THREADS threads; of the last link, the sums
 * of those before, from there. */
template <int THREADS, typename T, int N>
static __device__ __forceinline__ void share_link(const link_slot &slot, int thread, int before,
                                                  hopper_sums<N> &dq) {
    constexpr int FOURS = N / 8;
    float4(*const mine)[THREADS] = reinterpret_cast<float4(*)[THREADS]>(slot.sums);
    if constexpr (LINK_SCALE<T> != 1) {
        UNROLL
        for (int i = 0; i < N / 2; ++i)
            dq.value[i] *= LINK_SCALE<T>;
    }
    if (before == NOT_LAST) {
        UNROLL
        for (int i = 0; i < FOURS; ++i)
            mine[i][thread] = {dq.value[4 * i], dq.value[4 * i + 1], dq.value[4 * i + 2],
                               dq.value[4 * i + 3]};
        fence_proxy_async();
        return;
    }
    if (before == 0)
        return;
    UNROLL
    for (int i = 0; i < FOURS; ++i) {
        const float4 four = mine[i][thread];
        dq.value[4 * i] += four.x;
        dq.value[4 * i + 1] += four.y;
        dq.value[4 * i + 2] += four.z;
        dq.value[4 * i + 3] += four.w;
    }
}

/* Says that a sum of a group's is not finite. */
template <typename Plan, typename T, int N>
static __device__ __forceinline__ void tell_lost(const backward_on_hopper<T> &p, int64_t head,
                                                 int query, const hopper_sums<N> &dq) {
    if constexpr (LINK_SCALE<T> == 1)
        return;
    bool lost = false;
    UNROLL
    for (int i = 0; i < N / 2; ++i)
        lost = lost || !(fabsf(dq.value[i]) < -NO_SCORE);
    if (lost) {
        const int64_t tile = head * ceil_div(p.n.sq, Plan::QUERIES) + query / Plan::QUERIES;
        atomicOr(p.counts + tile, LOST);
        atomicOr(p.lost, LOST);
    }
}

/* A tile's sums of dq, rounded: those that the thread has of its group's. */
template <typename Plan, typename T>
static __device__ __forceinline__ void store_dq(const backward_on_hopper<T> &p, int64_t head,
                                                int query, hopper_sums<Plan::LINK_COLUMNS> &dq) {
    constexpr int D = Plan::COLUMNS, QUERIES = Plan::QUERIES;
    /* Made anew in every step: nvcc would keep addresses of the last link in registers. */
    const int here = uniform_warp() - GROUP_WARPS, part = here / GROUP_WARPS;
    tell_lost<Plan, T>(p, head, query, dq);
    store_sums(dq, p.dq, head,
               query + (QUERIES > BOX ? part : 0) * GROUP_ROWS + here % GROUP_WARPS * 16,
               (D > BOX ? part : 0) * BOX,
               [&](int, float sum) { return sum * (p.n.scale / LINK_SCALE<T>); });
}

/* Queries before a walk see no key: where the walk is that of the first keys, dq is 0 there. */
template <typename Plan, typename T>
static __device__ __forceinline__ void clear_unseeing(const backward_on_hopper<T> &p,
                                                      const backward_walk &walk) {
    const sequence<T> dq = head_of(p.dq.of, walk.at.head);
    const int unseeing = (int)(first_query(p.n, 0) / Plan::QUERIES); /* tiles */
    const int64_t count = walk.at.row == 0 ? (int64_t)unseeing * Plan::QUERIES * dq.d : 0;
    for (int64_t i = threadIdx.x - GROUP; i < count; i += Plan::GROUPS * GROUP)
        dq.data[i / dq.d * dq.stride + i % dq.d] = narrow<T>(0);
}

template <typename Plan, typename T>
static __device__ __forceinline__ void add_gradients(const backward_on_hopper<T> &p,
                                                     const backward_memory<Plan> &memory,
                                                     const backward_walk &walk, int warp) {
    constexpr int D = Plan::COLUMNS, QUERIES = Plan::QUERIES, ROWS = Plan::ROWS;
    constexpr int STEPS = QUERIES / STEP, BOX_BYTES = ROWS * TENSOR_LINE_BYTES;
    typedef tensor_core<T> core;
    const int group = warp / GROUP_WARPS;
    /* Of dq a group has 64 of the queries, or of the columns. */
    const int row_box = QUERIES > BOX ? group : 0, column_box = D > BOX ? group : 0;
    const int own_slopes =
        (warp * 16 + lane() / 4) * TENSOR_LINE_BYTES + lane() / 4 * PACK_BYTES + lane() % 4 * 4;
    const int64_t first = walk.at.row + warp * 16; /* the warp's keys */
    const uint32_t keys = shared_address(memory.keys()) + group * GROUP_ROWS * TENSOR_LINE_BYTES;
    const uint32_t values = keys + Plan::OWN_BYTES;
    const uint32_t all_keys = shared_address(memory.keys()) + column_box * BOX_BYTES;
    const int seen[2] = {seen_from(p.n, first + core::row(0)),
                         seen_from(p.n, first + core::row(1))};
    const int all_seen = seen_from(p.n, first + 15); /* the warp's last key, and all before it */

    hopper_sums<D> dk, dv;
    hopper_sums<QUERIES> s;
    ring_place<Plan::STAGES> ring = {0, 0};
    uint32_t parity = 0;
    UNROLL
    for (int i = 0; i < D / 2; ++i)
        dk.value[i] = dv.value[i] = 0;
    mbarrier_wait(memory.own_full(), 0);
    mbarrier_wait(memory.queries_full(0), 0);
    wgmma_fence();
    start_scores<D, ROWS, T>(s, keys, shared_address(memory.queries(0)));
    wgmma_wait<0>();
    wgmma_results(s.value);
    UNROLL_BY(1)
    for (int step = 0; step < walk.steps; ++step) {
        const int query = walk.tile(step) * QUERIES;
        const bool masked = query < all_seen || query + QUERIES > (int)p.n.sq;
        const box_places terms = {memory.base, (int)(memory.terms(ring.stage) - memory.base) +
                                                   lane() % 4 * PACK_BYTES};
        const uint32_t cotangents = shared_address(memory.cotangents(ring.stage));
        unsigned char *const shared_slopes = memory.slopes((int)parity);
        uint32_t weights[STEPS][4], slopes[STEPS][4];
        hopper_sums<QUERIES> ds;
        hopper_sums<Plan::LINK_COLUMNS> dq;

        mbarrier_wait(memory.cotangents_full(ring.stage), ring.round);
        wgmma_fence();
        start_scores<D, ROWS, T>(ds, values, cotangents);
        make_weights(s, terms, p.n.scale);
        if (masked)
            hide_unseen<core>(s, seen, query, (int)p.n.sq);
        wgmma_wait<0>();
        wgmma_results(ds.value);
        make_slopes(ds, s, terms);
        if (masked)
            hide_unseen<core>(ds, seen, query, (int)p.n.sq);
        round_weights<T>(weights, s);
        round_weights<T>(slopes, ds);
        wgmma_fence();
        start_results<T>(dv, weights, cotangents);
        share_slopes<STEPS>({memory.base, (int)(shared_slopes - memory.base) + own_slopes}, ROWS,
                            slopes);
        fence_proxy_async();
        barrier_sync(1, Plan::GROUPS * GROUP);
        wgmma_fence();
        start_dq<Plan, T>(dq, shared_address(shared_slopes) + row_box * BOX_BYTES, all_keys);
        start_results<T>(dk, slopes, shared_address(memory.queries(ring.stage)));
        wgmma_wait<1>();
        wgmma_results(dv.value);
        wgmma_results(dq.value);
        if (leads_group())
            mbarrier_arrive(memory.cotangents_empty(ring.stage));
        mbarrier_wait(memory.slot().ready, parity);
        const int before = links_before(memory.slot());
        share_link<Plan::GROUPS * GROUP, T>(memory.slot(), (int)threadIdx.x - GROUP, before, dq);
        __syncwarp();
        if (lane() == 0)
            mbarrier_arrive(memory.link_done((int)parity));
        if (before != NOT_LAST)
            store_dq<Plan, T>(p, memory.walk()->at.head, query, dq);
        /* The next scores. Behind the last step they are multiplied, too, and not used: around a
         * branch, ptxas would let all products wait for each other. */
        ring_place<Plan::STAGES> next = ring;
        if (step + 1 < walk.steps) {
            next.next();
            mbarrier_wait(memory.queries_full(next.stage), next.round);
        }
        wgmma_fence();
        start_scores<D, ROWS, T>(s, keys, shared_address(memory.queries(next.stage)));
        wgmma_wait<0>();
        wgmma_results(dk.value);
        wgmma_results(s.value);
        if (leads_group())
            mbarrier_arrive(memory.queries_empty(ring.stage));
        ring = next;
        parity ^= 1;
    }
    store_sums(dv, p.dv, walk.at.head, first, 0, [](int, float sum) { return sum; });
    store_sums(dk, p.dk, walk.at.head, first, 0, [&](int, float sum) { return sum * p.n.scale; });
}

#endif
