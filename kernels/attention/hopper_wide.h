/*
 * Backward of attention v3_hopper where d is more than 128. A step, of a tile of queries t, in the
 * two warpgroups of hopper_wide_plan.h:
 *
 *     of weights                                 of slopes
 *     dv += Pᵀ do      Pᵀ of t + 1 meanwhile     dk += dSᵀ q
 *     dq = dS k        in two parts              dq = dS k       in two parts
 *     Sᵀ = k qᵀ        of t + 2                  dPᵀ = v doᵀ     of t + 1, then its dSᵀ
 *
 * While a part of dq goes to its slot, the next product is multiplied.
 */
#ifndef ASSAY_ATTENTION_HOPPER_WIDE_H
#define ASSAY_ATTENTION_HOPPER_WIDE_H

#include "kernels/attention/hopper_backward.h"
#include "kernels/attention/hopper_wide_plan.h"

/* ---- single threads ---- */

template <typename Plan>
static __device__ __forceinline__ void
load_walk(const backward_maps &maps, const wide_memory<Plan> &memory, const backward_walk &walk) {
    constexpr int D = Plan::D, QUERIES = Plan::QUERIES, BOXES = D / BOX / Plan::LOADS;
    const int64_t head = walk.at.head;
    ring_place<Plan::STAGES> ring = {0, 0};
    const auto load = [&](const tensor_map &map, int step, bool with_terms) {
        const int query = walk.tile(step) * QUERIES;
        mbarrier_wait(memory.empty(ring.stage), ring.round ^ 1);
        UNROLL_BY(1)
        for (int box = 0; box < D / BOX; ++box) {
            uint64_t *const full = memory.full(ring.stage, box / BOXES);
            const bool terms = with_terms && box == 0;
            if (box % BOXES == 0)
                mbarrier_expect(full, BOXES * QUERIES * TENSOR_LINE_BYTES +
                                          (terms ? Plan::TERM_BYTES : 0));
            /* In the place of those of two steps before, which have been read: do of the step
             * before has waited for q of that step. */
            if (terms)
                tensor_load(memory.terms(step), &maps.terms, 0, query / TERM_QUERIES, (int32_t)head,
                            full);
            tensor_load(memory.stage(ring.stage) + box * QUERIES * TENSOR_LINE_BYTES, &map,
                        box * BOX, query, (int32_t)head, full);
        }
        ring.next();
    };
    mbarrier_expect(memory.own_full(), 2 * Plan::OWN_BYTES);
    load_lines<D, Plan::ROWS>(memory.keys(), &maps.k, walk.at.row, head, memory.own_full());
    load_lines<D, Plan::ROWS>(memory.values(), &maps.v, walk.at.row, head, memory.own_full());
    UNROLL_BY(1)
    for (int step = 0; step < walk.steps; ++step) {
        load(maps.q, step, true);
        load(maps.dout, step, false);
    }
}

/* Every third of the links of both groups' chains, from number `first` on; the group of slopes is
 * the first in each step. Each opens its group's next one. A walk that has last links ends with
 * them. */
template <typename Plan, typename T>
static __device__ __forceinline__ void pass_links(const backward_on_hopper<T> &p,
                                                  const wide_memory<Plan> &memory,
                                                  const backward_walk &, int first) {
    constexpr int PARTS = Plan::PARTS;
    const backward_walk &walk = *memory.walk(); /* more than this thread's registers hold */
    const auto count_of = [&](const chain_link &link, int group) {
        return p.counts + (int64_t)link.tile * Plan::CHAINS + group;
    };
    const auto open = [&](int group, int step, int part) {
        const chain_link link = link_at<Plan>(p.n, walk, step);
        if (link.last && part == 0)
            await_links(count_of(link, group), link.before);
        open_link<Plan>(p, memory.slot(group), link, group * PARTS + part);
    };
    if (first < Plan::GROUPS)
        open(1 - first, 0, 0);
    UNROLL_BY(1)
    for (int i = first * PARTS; i < walk.steps * Plan::GROUPS * PARTS; ++i) {
        const int part = i % PARTS, group = 1 - i / PARTS % Plan::GROUPS;
        const int step = i / PARTS / Plan::GROUPS;
        const chain_link link = link_at<Plan>(p.n, walk, step);
        if (!link.last && part == 0)
            await_links(count_of(link, group), link.before);
        mbarrier_wait(memory.link_done(group, step), (uint32_t)part % 2);
        if (!link.last)
            add_link<Plan>(p, memory.slot(group), link, group * PARTS + part);
        if (part + 1 < PARTS) {
            open(group, step, part + 1);
            continue;
        }
        if (step + 1 < walk.steps)
            open(group, step + 1, 0);
        if (!link.last)
            count_link(count_of(link, group));
        i += (Plan::PASSERS - 1) * PARTS;
    }
}

/* ---- a warpgroup ---- */

template <typename Plan> using wide_scores = hopper_sums<Plan::QUERIES>;

/* A thread of a warpgroup. Its registers hold sums; where its block and its warp are it finds out
 * again in each step. */
template <typename Plan, typename T> struct wide_group {
    const backward_on_hopper<T> &p;
    wide_memory<Plan> memory;

    /* The same; addresses in it are computed anew, too. */
    __device__ __forceinline__ wide_group anew() const {
        return {p, {memory.base + made_anew(0)}};
    }
    __device__ __forceinline__ int thread() const {
        return (int)threadIdx.x % GROUP;
    }
    __device__ __forceinline__ int warp() const {
        return uniform_warp() % GROUP_WARPS;
    }
    __device__ __forceinline__ int64_t head() const {
        return memory.walk()->at.head;
    }
    /* The warp's first key. */
    __device__ __forceinline__ int64_t first() const {
        return memory.walk()->at.row + warp() * 16;
    }
    __device__ __forceinline__ int query(int step) const {
        return memory.walk()->tile(step) * Plan::QUERIES;
    }
    __device__ __forceinline__ box_places terms(int step) const {
        return {memory.base, (int)(memory.terms(step) - memory.base) + thread() % 4 * PACK_BYTES};
    }
    /* The thread's first four of P; the next ones are GROUP fours further on. */
    __device__ __forceinline__ float4 *weights() const {
        return memory.weights() + thread();
    }
    /* Elements become 0 where a step's queries do not see a key. */
    __device__ __forceinline__ void hide(wide_scores<Plan> &x, int step) const {
        typedef tensor_core<T> core;
        const int64_t key = first();
        if (query(step) >= seen_from(p.n, key + 15))
            return;
        const int seen[2] = {seen_from(p.n, key + core::row(0)),
                             seen_from(p.n, key + core::row(1))};
        hide_unseen<core>(x, seen, query(step));
    }
    /* The numbers of a step's matrices in the order of the ring. */
    __device__ __forceinline__ int queries(int step) const {
        return 2 * step;
    }
    __device__ __forceinline__ int cotangents(int step) const {
        return 2 * step + 1;
    }
    __device__ __forceinline__ uint32_t stage(int number) const {
        return shared_address(memory.stage(number % Plan::STAGES));
    }
    /* Until a load of a matrix, or all of them, are there. */
    __device__ __forceinline__ void await(int number, int load) const {
        mbarrier_wait(memory.full(number % Plan::STAGES, load),
                      (uint32_t)(number / Plan::STAGES % 2));
    }
    __device__ __forceinline__ void await(int number) const {
        UNROLL
        for (int load = 0; load < Plan::LOADS; ++load)
            await(number, load);
    }
    /* Scores of own lines and a matrix begin, once its first columns are there. */
    __device__ __forceinline__ void start(wide_scores<Plan> &x, unsigned char *own,
                                          int number) const {
        constexpr int BOXES = Plan::D / BOX / Plan::LOADS;
        start_scores<Plan::D, Plan::ROWS, T>(x, shared_address(own), stage(number), [&](int box) {
            if (box % BOXES == 0) {
                await(number, box / BOXES);
                wgmma_fence();
            }
        });
    }
    __device__ __forceinline__ void release(int number) const {
        if (leads_group())
            mbarrier_arrive(memory.empty(number % Plan::STAGES));
    }
};

/* A part of dq of a step begins. */
template <typename Plan, typename T, int NUMBER>
static __device__ __forceinline__ void start_part(const wide_group<Plan, T> &of,
                                                  hopper_sums<BOX> &dq, int step, int part) {
    const int box = NUMBER * Plan::PARTS + part;
    start_dq<Plan, T>(dq, shared_address(of.memory.slopes(step)),
                      shared_address(of.memory.keys()) + box * Plan::ROWS * TENSOR_LINE_BYTES);
}

/* A part of dq, which is there, becomes part of its chain's link, or the result. */
template <typename Plan, typename T, int NUMBER>
static __device__ __forceinline__ void share_part(const wide_group<Plan, T> &of,
                                                  hopper_sums<BOX> &dq, int step, int part) {
    static_assert(Plan::PARTS % 2 == 0, "a part's parity is that of its number");
    const backward_on_hopper<T> &p = of.p;
    const link_slot slot = of.memory.slot(NUMBER);
    mbarrier_wait(slot.ready, (uint32_t)part % 2);
    const int before = links_before(slot);
    share_link<GROUP, T>(slot, of.thread(), before, dq);
    __syncwarp();
    if (lane() == 0)
        mbarrier_arrive(of.memory.link_done(NUMBER, step));
    if (before == NOT_LAST)
        return;
    const int64_t head = of.head();
    const int query = of.query(step);
    tell_lost<Plan>(p, head, query, NUMBER, dq);
    store_sums(dq, p.dq, head, query + of.warp() * 16, (NUMBER * Plan::PARTS + part) * BOX,
               [&](int, float sum) { return sum * (p.n.scale / LINK_SCALE<T>); });
}

/* A step's S becomes P, in shared memory. */
template <typename Plan, typename T>
static __device__ __forceinline__ void share_weights(const wide_group<Plan, T> &of,
                                                     wide_scores<Plan> &s, int step) {
    float4 *const mine = of.weights();
    make_weights(s, of.terms(step), of.p.n.scale);
    of.hide(s, step);
    if (step > 0)
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
    UNROLL
    for (int i = 0; i < Plan::QUERIES / 8; ++i) {
        const float4 four = mine[i * GROUP];
        s.value[4 * i] = four.x;
        s.value[4 * i + 1] = four.y;
        s.value[4 * i + 2] = four.z;
        s.value[4 * i + 3] = four.w;
    }
    return s;
}

/* A step's dS, rounded, to shared memory, for both groups' dq. */
template <typename Plan, typename T, int STEPS>
static __device__ __forceinline__ void tell_slopes(const wide_group<Plan, T> &of,
                                                   const uint32_t (&slopes)[STEPS][4], int step) {
    const int own = (of.warp() * 16 + lane() / 4) * TENSOR_LINE_BYTES + lane() / 4 * PACK_BYTES +
                    lane() % 4 * 4;
    const int place = (int)(of.memory.slopes(step) - of.memory.base) + own;
    if (step >= Plan::SLOPES)
        barrier_sync(SLOPES_FREE + (step - Plan::SLOPES) % 2, 2 * GROUP);
    share_slopes<STEPS>({of.memory.base, place}, Plan::ROWS, slopes);
    fence_proxy_async();
    barrier_sync(ALL_SLOPES, GROUP);
    barrier_arrive(SLOPES_READY + step % 2, 2 * GROUP);
}

/* The group of weights: dv. */
template <typename Plan, typename T>
static __device__ __forceinline__ void add_weights(const wide_group<Plan, T> &all, int steps) {
    constexpr int D = Plan::D, QUERIES = Plan::QUERIES;
    hopper_sums<D> dv;
    hopper_sums<QUERIES> s;
    UNROLL
    for (int i = 0; i < D / 2; ++i)
        dv.value[i] = 0;
    mbarrier_wait(all.memory.own_full(), 0);
    all.start(s, all.memory.keys(), all.queries(0));
    wgmma_wait<0>();
    wgmma_results(s.value);
    all.release(all.queries(0));
    share_weights(all, s, 0);
    /* Behind the last step its scores are multiplied once more, and not used: around a branch,
     * ptxas would let all products wait for each other. */
    const auto start_next = [&](const wide_group<Plan, T> &of, int step) {
        of.start(s, of.memory.keys(), of.queries(step < steps ? step : steps - 1));
    };
    start_next(all, 1);
    wgmma_wait<0>();
    wgmma_results(s.value);
    UNROLL_BY(1)
    for (int step = 0; step < steps; ++step) {
        const wide_group<Plan, T> of = all.anew();
        hopper_sums<BOX> dq, dq_too;
        uint32_t weights[QUERIES / STEP][4];
        round_weights<T>(weights, weights_of(of));
        of.await(of.cotangents(step));
        wgmma_fence();
        start_results<T>(dv, weights, of.stage(of.cotangents(step)));
        if (step + 1 < steps) {
            of.release(of.queries(step + 1));
            share_weights(of, s, step + 1);
        }
        wgmma_wait<0>();
        wgmma_results(dv.value);
        of.release(of.cotangents(step));
        barrier_sync(SLOPES_READY + step % 2, 2 * GROUP);
        wgmma_fence();
        start_part<Plan, T, 0>(of, dq, step, 0);
        start_part<Plan, T, 0>(of, dq_too, step, 1);
        wgmma_wait<1>();
        wgmma_results(dq.value);
        share_part<Plan, T, 0>(of, dq, step, 0);
        start_next(of, step + 2);
        wgmma_wait<1>();
        wgmma_results(dq_too.value);
        if (step + Plan::SLOPES < steps)
            barrier_arrive(SLOPES_FREE + step % 2, 2 * GROUP);
        share_part<Plan, T, 0>(of, dq_too, step, 1);
        wgmma_wait<0>();
        wgmma_results(s.value);
    }
    store_sums(dv, all.p.dv, all.head(), all.first(), 0, [](int, float sum) { return sum; });
}

/* The group of slopes: dk. */
template <typename Plan, typename T>
static __device__ __forceinline__ void add_slopes(const wide_group<Plan, T> &all, int steps) {
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
        barrier_sync(WEIGHTS_READY + of.warp(), 2 * WARP);
        const wide_scores<Plan> s = weights_of(of);
        if (step + 1 < steps)
            barrier_arrive(WEIGHTS_FREE + of.warp(), 2 * WARP);
        make_slopes(ds, s, of.terms(step));
        of.hide(ds, step);
        round_weights<T>(slopes, ds);
        tell_slopes(of, slopes, step);
    };
    mbarrier_wait(all.memory.own_full(), 0);
    all.await(all.queries(0));
    all.start(ds, all.memory.values(), all.cotangents(0));
    wgmma_wait<0>();
    wgmma_results(ds.value);
    make(all, 0);
    UNROLL_BY(1)
    for (int step = 0; step < steps; ++step) {
        const wide_group<Plan, T> of = all.anew();
        hopper_sums<BOX> dq, dq_too;
        wgmma_fence();
        start_results<T>(dk, slopes, of.stage(of.queries(step)));
        start_part<Plan, T, 1>(of, dq, step, 0);
        start_part<Plan, T, 1>(of, dq_too, step, 1);
        wgmma_wait<2>();
        wgmma_results(dk.value);
        of.release(of.queries(step));
        wgmma_wait<1>();
        wgmma_results(dq.value);
        share_part<Plan, T, 1>(of, dq, step, 0);
        const int next = step + 1 < steps ? step + 1 : step; /* as the other group's */
        of.await(of.queries(next));
        of.start(ds, of.memory.values(), of.cotangents(next));
        wgmma_wait<1>();
        wgmma_results(dq_too.value);
        share_part<Plan, T, 1>(of, dq_too, step, 1);
        wgmma_wait<0>();
        wgmma_results(ds.value);
        if (step + 1 < steps)
            make(of, step + 1);
    }
    store_sums(dk, all.p.dk, all.head(), all.first(), 0,
               [&](int, float sum) { return sum * all.p.n.scale; });
}

template <typename Plan, typename T>
static __device__ __forceinline__ void add_gradients(const backward_on_hopper<T> &p,
                                                     const wide_memory<Plan> &memory,
                                                     const backward_walk &walk, int warp) {
    const wide_group<Plan, T> all = {p, memory};
    if (warp < GROUP_WARPS)
        add_weights(all, walk.steps);
    else
        add_slopes(all, walk.steps);
}

#endif
