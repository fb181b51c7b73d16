/*
 * The persistent kernel of matmul_accumulate's hopper_tile.h around a job: a product of the model
 * together with the steps beside it, which the job says. The roles of the threads and the ring of
 * stages are those there, and so is each sum's order.
 *
 * Two warps that have no role there, or the blocks that have no tile of the last turn, copy
 * parameters for products to come (hopper_ahead.h).
 *
 * A job has
 *     step               columns from one tile's place to the next one's
 *     unit_boxes         of 64 by 64 elements of a warpgroup: how many leave for 64 columns of step
 *     in_stage           how many of them share a stage of the ring
 *     brings             whether they come with something in them
 *     p                  the sizes (hopper_problem)
 *     load(stage, at, units, k, full)          by one thread: the slice of both operands at k
 *     bring(at, i, group, box, full)           by one thread: what finish() finds in box i
 *     store(at, i, group, box)                 by one thread: box i to memory
 *     prepare(at, group)                       by a warpgroup, before the products: what finish()
 *                                              wants to find
 *     finish(at, group, sums, prepared, ring)  by a warpgroup: the sums to boxes
 */
#ifndef ASSAY_TRANSFORMER_HOPPER_FRAME_H
#define ASSAY_TRANSFORMER_HOPPER_FRAME_H

#include "kernels/common/pack.h"
#include "kernels/matmul_accumulate/hopper_widths.h"
#include "kernels/transformer/hopper_ahead.h"

/* Stages that the results of the widest tile take. */
template <typename Job>
static constexpr int
    frame_stages = (Job::step / UNIT * Job::unit_boxes + Job::in_stage - 1) / Job::in_stage;

template <typename Job> static __device__ __forceinline__ int boxes_from(int first, int all) {
    return all - first < Job::in_stage ? all - first : Job::in_stage;
}

struct nothing_prepared {};

/* ---- thread 0 ---- */

template <typename Tile, typename Job>
static __device__ __forceinline__ void frame_fill(const Job &job, hopper_ring<Tile> ring) {
    constexpr int unit_bytes = Tile::right_bytes / (Job::step / UNIT);
    each_part<Tile, Job::step>(job.p.m, job.p.n, [&](hopper_place at, int units) {
        const int all = units * Job::unit_boxes;
        for (int32_t slice = 0; slice < job.p.slices; ++slice) {
            mbarrier_wait(ring.empty(), ring.round ^ 1);
            mbarrier_expect(ring.full(), Tile::left_bytes + units * unit_bytes);
            job.load(ring.data(), at, units, slice * DEPTH, ring.full());
            ring.next();
        }
        for (int first = 0; first < all; first += Job::in_stage) {
            const int boxes = boxes_from<Job>(first, all);
            mbarrier_wait(ring.empty(), ring.round ^ 1);
            mbarrier_expect(ring.full(), Job::brings ? boxes * 2 * BOX_BYTES : 0);
            for (int i = 0; Job::brings && i < 2 * boxes; ++i)
                job.bring(at, first + i / 2, i % 2, ring.box(i / 2, i % 2), ring.full());
            ring.next();
        }
    });
}

/* ---- thread 32 ---- */

template <typename Tile, typename Job>
static __device__ __forceinline__ void frame_drain(const Job &job, hopper_ring<Tile> ring) {
    const int slices = job.p.slices % Tile::stages;
    uint32_t rounds = 0; /* a bit for each stage: the parity of its results */
    each_part<Tile, Job::step>(job.p.m, job.p.n, [&](hopper_place at, int units) {
        const int all = units * Job::unit_boxes;
        ring.stage = (ring.stage + slices) % Tile::stages;
        for (int first = 0; first < all; first += Job::in_stage) {
            mbarrier_wait(ring.results(), rounds >> ring.stage & 1);
            for (int i = 0; i < 2 * boxes_from<Job>(first, all); ++i)
                job.store(at, first + i / 2, i % 2, ring.box(i / 2, i % 2));
            bulk_commit();
            bulk_wait_read<0>();
            mbarrier_arrive(ring.empty());
            mbarrier_arrive(ring.empty());
            rounds ^= 1u << ring.stage;
            ring.next();
        }
    });
    bulk_wait<0>();
}

/* ---- the warpgroups that multiply ---- */

template <typename Tile>
static __device__ __forceinline__ void open_results(hopper_ring<Tile> &ring) {
    mbarrier_wait(ring.full(), ring.round);
}

template <typename Tile>
static __device__ __forceinline__ void close_results(hopper_ring<Tile> &ring) {
    fence_proxy_async();
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        mbarrier_arrive(ring.results());
    ring.next();
}

/* This thread's pairs of neighbours in a box: visit(pair, row, column, i), of which sums[i] and
 * sums[i + 1] are. */
template <typename Visit>
static __device__ __forceinline__ void each_pair(unsigned char *box, Visit visit) {
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x % GROUP / 32;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int row = 16 * warp + lane / 4 + 8 * half;
#pragma unroll
        for (int j = 0; j < BOX / 8; ++j)
            visit(reinterpret_cast<__nv_bfloat162 *>(box + row * TENSOR_LINE_BYTES +
                                                     (j ^ row % 8) * 16 + lane % 4 * 4),
                  row, 8 * j + lane % 4 * 2, 4 * j + 2 * half);
    }
}

template <typename Tile, typename Job>
static __global__ void __launch_bounds__(THREADS, 1)
    multiply_in_frame(const __grid_constant__ Job job, const __grid_constant__ copies_ahead ahead) {
    ASSAY_DYNAMIC_SHARED(unsigned char, shared);
    hopper_ring<Tile> ring = ring_in<hopper_ring<Tile>>(shared);
    static_assert(frame_stages<Job> < Tile::stages, "slices come while results leave");
    static_assert(Job::in_stage <= Tile::per_stage, "a stage holds its boxes");
    if (threadIdx.x == 0)
        make_barriers(ring);
    __syncthreads();
    if (threadIdx.x < GROUP) {
        registers_lower<FEW_REGISTERS>();
        if (threadIdx.x == 0)
            frame_fill<Tile>(job, ring);
        else if (threadIdx.x == 32)
            frame_drain<Tile>(job, ring);
        else if (threadIdx.x / AHEAD_THREADS == 1)
            copy_ahead(ahead);
    } else {
        const int group = (int)threadIdx.x / GROUP - 1;
        registers_raise<MANY_REGISTERS>();
        each_part<Tile, Job::step>(job.p.m, job.p.n, [&](hopper_place at, int units) {
            const auto prepared = job.prepare(at, group);
            with_sums<Tile>(units, [&](auto &sums) {
                multiply_slices<Tile, typename Job::kind>(job.p, group, ring, sums);
                job.finish(at, group, sums, prepared, ring);
            });
        });
        copy_to_spare(ahead, hopper_tiles<Job::step>(job.p.m, job.p.n), group);
    }
}

template <typename Tile, typename Job>
static assay_status launch_in_frame(void *stream, const Job &job, copies_ahead *ahead) {
    const int64_t tiles = hopper_blocks<Tile, Job::step>(job.p.m, job.p.n);
    copies_ahead copies = none_ahead;
    if (ahead != NULL) {
        take_spare(ahead, tiles, Tile::columns, job.p.slices);
        copies = *ahead;
    }
    const bool all = copies.spare && copies.first < copies.last;
    const int64_t blocks = all ? ASSAY_MULTIPROCESSORS : clamp(tiles, 0, ASSAY_MULTIPROCESSORS);
    return ASSAY_LAUNCH(stream, whole_grid(blocks), dim3(THREADS), Tile::shared_bytes,
                        (multiply_in_frame<Tile, Job>), job, copies);
}

/* ---- on the host ---- */

/* Products of bf16 without anything added; k in slices. */
static inline hopper_problem<bf16> frame_problem(int64_t m, int64_t n, int64_t k) {
    hopper_problem<bf16> p = {};
    p.m = m;
    p.n = n;
    p.slices = (int32_t)ceil_div(k, DEPTH);
    p.times = 1;
    p.staged = true;
    return p;
}

/* A matrix's lines in memory, which boxes take `box_lines` of. */
static inline tensor_lines frame_lines(const assay_tensor *t, int32_t box_lines) {
    return {t->data, t->shape[1], t->shape[0], t->stride[0], box_lines};
}

/* Makes the maps of `n` matrices, as long as all is well. */
static inline assay_status make_frame_maps(int n, tensor_map *const *maps,
                                           const tensor_lines *lines) {
    assay_status status = ASSAY_OK;
    for (int i = 0; status == ASSAY_OK && i < n; ++i)
        status = make_tensor_map(maps[i], &lines[i]);
    return status;
}

static inline bool frame_takes(int64_t m, int64_t n, int64_t k) {
    return m > 0 && n > 0 && k > 0 && m <= MOST_EXTENT && n <= MOST_EXTENT / 4 && k <= MOST_EXTENT;
}

/* Whether copies by TMA take dense tensors with rows of n and k elements: whole pieces of 16 bytes.
 */
static bool rows_fit(int64_t tokens, int64_t n, int64_t k) {
    return frame_takes(tokens, n, k) && n % PACKED == 0 && k % PACKED == 0;
}

/* ---- which tiles ---- */

template <typename Product> struct frame_choice {
    int64_t time; /* until all multiprocessors are done */
    assay_status (*launch)(void *stream, const Product &x);
};

template <int STEP, typename Product>
static frame_choice<Product> frame_choice_of(const Product &x, int64_t tile_time,
                                             assay_status (*launch)(void *, const Product &)) {
    const int64_t turns = ceil_div(hopper_tiles<STEP>(x.m, x.n), ASSAY_MULTIPROCESSORS);
    return {turns * tile_time, launch};
}

/* As hopper_multiply.h chooses. */
template <typename Product, int N>
static assay_status launch_fastest(void *stream, const Product &x,
                                   const frame_choice<Product> (&choices)[N]) {
    const frame_choice<Product> *best = choices;
    for (const frame_choice<Product> &c : choices)
        if (c.time < best->time)
            best = &c;
    return best->launch(stream, x);
}

#endif
