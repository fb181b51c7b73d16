/*
 * dk and dv of attention v3_hopper where d is more than 128. A step, of a tile of queries t, in the
 * two warpgroups of hopper_wide_plan.h:
 *
 *     of weights                                 of slopes
 *     dv += Pᵀ do                                dk += dSᵀ q
 *     Sᵀ = k qᵀ        of t + 1, then its Pᵀ     dPᵀ = v doᵀ     of t + 1, then its dSᵀ
 *
 * While one group turns products into weights or slopes, the other multiplies. The results come
 * first: what they release is loaded again by the time when scores need it.
 */
#ifndef ASSAY_ATTENTION_HOPPER_WIDE_KEYS_H
#define ASSAY_ATTENTION_HOPPER_WIDE_KEYS_H

#include "kernels/attention/hopper_backward.h"
#include "kernels/attention/hopper_wide_plan.h"

template <typename T> struct wide_keys_problem {
    sizes n;
    head_groups groups;
    result_rows<T> dk, dv;
};

/* ---- the loading thread ---- */

template <typename Plan, typename T>
static __device__ __forceinline__ void load_walks(const wide_keys_problem<T> &p,
                                                  const backward_maps &maps,
                                                  const wide_memory<Plan> &memory) {
    constexpr int D = Plan::D, QUERIES = Plan::QUERIES, BOXES = D / BOX / Plan::LOADS;
    ring_place<Plan::STAGES> ring = {0, 0};
    each_walk<Plan>(p.n, p.groups, [&](const wide_walk &walk) {
        const int64_t head = walk.at.head;
        const auto load = [&](const tensor_map &map, int step, bool with_terms) {
            const int query = (walk.first + step) * QUERIES;
            mbarrier_wait(memory.empty(ring.stage), ring.round ^ 1);
            UNROLL_BY(1)
            for (int box = 0; box < D / BOX; ++box) {
                uint64_t *const full = memory.full(ring.stage, box / BOXES);
                const bool terms = with_terms && box == 0;
                if (box % BOXES == 0)
                    mbarrier_expect(full, BOXES * QUERIES * TENSOR_LINE_BYTES +
                                              (terms ? Plan::TERM_BYTES : 0));
                /* In the place of those of two steps before, which have been read: q of that step
                 * has been given back. */
                if (terms)
                    tensor_load(memory.terms(walk.step + step), &maps.terms, 0,
                                query / TERM_QUERIES, (int32_t)head, full);
                tensor_load(memory.stage(ring.stage) + box * QUERIES * TENSOR_LINE_BYTES, &map,
                            box * BOX, query, (int32_t)head, full);
            }
            ring.next();
        };
        const auto load_own = [&](unsigned char *to, const tensor_map &map, uint64_t *full,
                                  uint64_t *empty) {
            mbarrier_wait(empty, walk.tile % 2 ^ 1);
            mbarrier_expect(full, Plan::OWN_BYTES);
            load_lines<D, Plan::ROWS>(to, &map, walk.at.row, head, full);
        };
        load_own(memory.keys(), maps.k, memory.keys_full(), memory.keys_empty());
        load(maps.q, 0, true);
        load_own(memory.values(), maps.v, memory.values_full(), memory.values_empty());
        load(maps.dout, 0, false);
        UNROLL_BY(1)
        for (int step = 1; step < walk.steps; ++step) {
            load(maps.q, step, true);
            load(maps.dout, step, false);
        }
    });
}

/* ---- a warpgroup ---- */

template <typename Plan> using wide_scores = hopper_sums<Plan::QUERIES>;

/* A thread of a warpgroup on a walk. Its registers hold sums; what is its own it finds out again in
 * each step. */
template <typename Plan, typename T> struct wide_group {
    const wide_keys_problem<T> &p;
    wide_memory<Plan> memory;
    const wide_walk &walk;

    /* The same; addresses in it are computed anew, too. */
    __device__ __forceinline__ wide_group anew() const {
        return {p, {memory.base + made_anew(0)}, walk};
    }
    __device__ __forceinline__ int thread() const {
        return (int)threadIdx.x % GROUP;
    }
    __device__ __forceinline__ int warp() const {
        return uniform_warp() % GROUP_WARPS;
    }
    /* The warp's first key. */
    __device__ __forceinline__ int64_t first() const {
        return walk.at.row + warp() * 16;
    }
    __device__ __forceinline__ box_places terms(int step) const {
        return {memory.base,
                (int)(memory.terms(walk.step + step) - memory.base) + thread() % 4 * PACK_BYTES};
    }
    /* The thread's first four of P; the next ones are GROUP fours further on. */
    __device__ __forceinline__ float4 *weights() const {
        return memory.weights() + thread();
    }
    /* Elements become 0 where a step's queries do not see a key, or are not there. */
    __device__ __forceinline__ void hide(wide_scores<Plan> &x, int step) const {
        typedef tensor_core<T> core;
        const int query = (walk.first + step) * Plan::QUERIES;
        const int64_t key = first();
        if (query >= seen_from(p.n, key + 15) && query + Plan::QUERIES <= (int)p.n.sq)
            return;
        const int seen[2] = {seen_from(p.n, key + core::row(0)),
                             seen_from(p.n, key + core::row(1))};
        hide_unseen<core>(x, seen, query, (int)p.n.sq);
    }
    /* The numbers of a step's matrices in the order of the ring. */
    __device__ __forceinline__ uint32_t queries(int step) const {
        return 2 * (walk.step + step);
    }
    __device__ __forceinline__ uint32_t cotangents(int step) const {
        return queries(step) + 1;
    }
    __device__ __forceinline__ uint32_t stage(uint32_t number) const {
        return shared_address(memory.stage(number % Plan::STAGES));
    }
    /* Until a load of a matrix, or all of them, are there. */
    __device__ __forceinline__ void await(uint32_t number, int load) const {
        mbarrier_wait(memory.full(number % Plan::STAGES, load), number / Plan::STAGES % 2);
    }
    __device__ __forceinline__ void await(uint32_t number) const {
        UNROLL
        for (int load = 0; load < Plan::LOADS; ++load)
            await(number, load);
    }
    /* Scores of own lines and a matrix begin, once its first columns are there. */
    __device__ __forceinline__ void start(wide_scores<Plan> &x, unsigned char *own,
                                          uint32_t number) const {
        constexpr int BOXES = Plan::D / BOX / Plan::LOADS;
        start_scores<Plan::D, Plan::ROWS, T>(x, shared_address(own), stage(number), [&](int box) {
            if (box % BOXES == 0) {
                await(number, box / BOXES);
                wgmma_fence();
            }
        });
    }
    /* Each warp for itself, with the terms that it has read. No product waits for such reads. */
    __device__ __forceinline__ void release(uint32_t number) const {
        __syncwarp();
        if (lane() == 0)
            mbarrier_arrive(memory.empty(number % Plan::STAGES));
    }
};

/* A step's S becomes P, in shared memory, too. */
template <typename Plan, typename T>
static __device__ __forceinline__ void share_weights(const wide_group<Plan, T> &of,
                                                     wide_scores<Plan> &s, int step) {
    float4 *const mine = of.weights();
    make_weights(s, of.terms(step), of.p.n.scale);
    of.hide(s, step);
    barrier_sync(WEIGHTS_FREE + of.warp(), 2 * WARP);
    UNROLL
    for (int i = 0; i < Plan::QUERIES / 8; ++i)
        mine[i * GROUP] = {s.value[4 * i], s.value[4 * i + 1], s.value[4 * i + 2],
                           s.value[4 * i + 3]};
    barrier_arrive(WEIGHTS_READY + of.warp(), 2 * WARP);
}

/* P from there. */
template <typename Plan, typename T>
static __device__ __forceinline__ wide_scores<Plan> weights_of(const wide_group<Plan, T> &of) {
    const float4 *const mine = of.weights();
    wide_scores<Plan> s;
    barrier_sync(WEIGHTS_READY + of.warp(), 2 * WARP);
    UNROLL
    for (int i = 0; i < Plan::QUERIES / 8; ++i) {
        const float4 four = mine[i * GROUP];
        s.value[4 * i] = four.x;
        s.value[4 * i + 1] = four.y;
        s.value[4 * i + 2] = four.z;
        s.value[4 * i + 3] = four.w;
    }
    barrier_arrive(WEIGHTS_FREE + of.warp(), 2 * WARP);
    return s;
}

/* The group of weights: dv. */
template <typename Plan, typename T>
static __device__ __forceinline__ void add_weights(const wide_group<Plan, T> &all) {
    constexpr int D = Plan::D, QUERIES = Plan::QUERIES;
    hopper_sums<D> dv;
    hopper_sums<QUERIES> s;
    uint32_t weights[QUERIES / STEP][4];
    UNROLL
    for (int i = 0; i < D / 2; ++i)
        dv.value[i] = 0;
    mbarrier_wait(all.memory.keys_full(), all.walk.tile % 2);
    all.start(s, all.memory.keys(), all.queries(0));
    wgmma_wait<0>();
    wgmma_results(s.value);
    share_weights(all, s, 0);
    all.release(all.queries(0));
    round_weights<T>(weights, s);
    UNROLL_BY(1)
    for (int step = 1; step < all.walk.steps; ++step) {
        const wide_group<Plan, T> of = all.anew();
        of.await(of.cotangents(step - 1));
        wgmma_fence();
        start_results<T>(dv, weights, of.stage(of.cotangents(step - 1)));
        of.start(s, of.memory.keys(), of.queries(step));
        wgmma_wait<1>();
        wgmma_results(dv.value);
        of.release(of.cotangents(step - 1));
        wgmma_wait<0>();
        wgmma_results(s.value);
        share_weights(of, s, step);
        of.release(of.queries(step));
        round_weights<T>(weights, s);
    }
    if (leads_group())
        mbarrier_arrive(all.memory.keys_empty());
    const uint32_t last = all.cotangents(all.walk.steps - 1);
    all.await(last);
    wgmma_fence();
    start_results<T>(dv, weights, all.stage(last));
    wgmma_wait<0>();
    wgmma_results(dv.value);
    all.release(last);
    store_sums(dv, all.p.dv, all.walk.at.head, all.first(), 0, [](int, float sum) { return sum; });
}

/* The group of slopes: dk. */
template <typename Plan, typename T>
static __device__ __forceinline__ void add_slopes(const wide_group<Plan, T> &all) {
    constexpr int D = Plan::D, QUERIES = Plan::QUERIES;
    hopper_sums<D> dk;
    hopper_sums<QUERIES> ds;
    uint32_t slopes[QUERIES / STEP][4];
    UNROLL
    for (int i = 0; i < D / 2; ++i)
        dk.value[i] = 0;
    /* dP of a step, which is there, becomes dS. */
    const auto make = [&](const wide_group<Plan, T> &of, int step) {
        of.release(of.cotangents(step));
        make_slopes(ds, weights_of(of), of.terms(step));
        of.hide(ds, step);
    };
    mbarrier_wait(all.memory.values_full(), all.walk.tile % 2);
    all.await(all.queries(0));
    all.start(ds, all.memory.values(), all.cotangents(0));
    wgmma_wait<0>();
    wgmma_results(ds.value);
    make(all, 0);
    round_weights<T>(slopes, ds);
    UNROLL_BY(1)
    for (int step = 1; step < all.walk.steps; ++step) {
        const wide_group<Plan, T> of = all.anew();
        wgmma_fence();
        start_results<T>(dk, slopes, of.stage(of.queries(step - 1)));
        of.start(ds, of.memory.values(), of.cotangents(step));
        wgmma_wait<1>();
        wgmma_results(dk.value);
        of.release(of.queries(step - 1));
        of.await(of.queries(step)); /* its terms */
        wgmma_wait<0>();
        wgmma_results(ds.value);
        make(of, step);
        round_weights<T>(slopes, ds);
    }
    if (leads_group())
        mbarrier_arrive(all.memory.values_empty());
    const uint32_t last = all.queries(all.walk.steps - 1);
    wgmma_fence();
    start_results<T>(dk, slopes, all.stage(last));
    wgmma_wait<0>();
    wgmma_results(dk.value);
    all.release(last);
    store_sums(dk, all.p.dk, all.walk.at.head, all.first(), 0,
               [&](int, float sum) { return sum * all.p.n.scale; });
}

template <typename Plan, typename T>
static __global__ void __launch_bounds__(Plan::THREADS, 1)
    gradients_of_wide_keys(const wide_keys_problem<T> p,
                           const __grid_constant__ backward_maps maps) {
    ASSAY_DYNAMIC_SHARED(unsigned char, shared);
    const wide_memory<Plan> memory = wide_memory_in<Plan>(shared);
    if (threadIdx.x == 0)
        make_barriers(memory);
    __syncthreads();
    if (threadIdx.x < GROUP) {
        registers_lower<Plan::FEW_REGISTERS>();
        if (threadIdx.x == 0)
            load_walks(p, maps, memory);
        return;
    }
    registers_raise<Plan::MANY_REGISTERS>();
    const int warp = uniform_warp() - GROUP_WARPS, free = WEIGHTS_FREE + warp % GROUP_WARPS;
    if (warp < GROUP_WARPS) {
        each_walk<Plan>(p.n, p.groups, [&](const wide_walk &walk) {
            add_weights<Plan, T>({p, memory, walk});
        });
        barrier_sync(free, 2 * WARP);
    } else {
        barrier_arrive(free, 2 * WARP);
        each_walk<Plan>(p.n, p.groups, [&](const wide_walk &walk) {
            add_slopes<Plan, T>({p, memory, walk});
        });
    }
}

#endif
