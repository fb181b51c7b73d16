/*
 * c of v3 in TF32 where kernels are 3 x 3 x 3 and x has few channels: plane by plane. A block walks
 * along d through columns of tiles, its share of all planes of c, and has a ring of planes of x in
 * shared memory, so that it fetches each plane once, two steps before its products. A run is what a
 * block has of a column's planes: where there is one group and c is not kept, each warp makes one
 * piece of its statistics (v3_run.h), otherwise one of each plane and group.
 */
#ifndef ASSAY_CONV3D_GROUPNORM_MEAN_V3_SWEEP_H
#define ASSAY_CONV3D_GROUPNORM_MEAN_V3_SWEEP_H

#include "kernels/conv3d_groupnorm_mean/v3_run.h"
#include "kernels/conv3d_groupnorm_mean/v3_warpgroup.h"

struct sweep_shape {
    static constexpr int K = 3;
    /* Tiles of a block, one a warp. */
    static constexpr int TILES_H = 2, TILES_W = WARPS / TILES_H, TILE_W = 16, TILE_H = TILE_LINES,
                         HIGH = TILES_H * TILE_H, WIDE = TILES_W * TILE_W;
    static constexpr int PACK = PACK_BYTES / (int)sizeof(float), LINES = HIGH + K - 1,
                         PITCH = WIDE + PACK;
    static constexpr int RING = 5; /* planes: K, and two on their way */
    /* Banks, modulo 32: 12, and so for channels, as PLANE_SHIFT says. */
    static constexpr int PLANE = LINES * PITCH + 4, CHANNEL = RING * PLANE + 16;
    static_assert(PLANE % BANKS == PLANE_SHIFT && CHANNEL % BANKS == PLANE_SHIFT,
                  "operands of a fragment lie in different banks");
};

/* Planes of tiles of blocks, `columns` of them in each plane of a sample. */
static __host__ __device__ __forceinline__ int64_t planes_of(const sizes &z, int64_t columns) {
    return z.n * columns * z.out.d;
}

/* The block whose share of `all` planes has plane i. */
static __device__ __forceinline__ int64_t block_of(int64_t i, int64_t all) {
    return ((i + 1) * gridDim.x - 1) / all;
}

/* A block's core: with three octets, its warps' lines have no registers left for weights, and
 * Hopper's tensor cores, which take none, are faster; with fewer, they are not. */
template <int OCTETS>
using sweep_core = std::conditional_t<OCTETS == 3, tf32_warpgroup<OCTETS>, tf32_lines<OCTETS>>;

/* Blocks that a multiprocessor should have. */
template <int OCTETS> struct sweep_blocks { static constexpr int COUNT = OCTETS == 1 ? 4 : 3; };

struct sweep {
    rows<const float> x;
    filters<float> w;
    sizes z;
    divider by_k;
    int high, wide, groups, places; /* tiles of blocks in a plane; places: that j numbers */
    int runs;                       /* the most that a column is cut into */
    bool packed;
};

/* Planes [from, end) of one column of tiles. */
struct sweep_run {
    int64_t n;
    int column, h, w, from, end;
};

static __device__ __forceinline__ sweep_run sweep_at(const sweep &p, int64_t i, int64_t end) {
    const int64_t all = i / p.z.out.d;
    sweep_run r;
    r.from = (int)(i - all * p.z.out.d);
    r.end = least(p.z.out.d, r.from + end - i);
    r.n = all / (p.high * p.wide);
    r.column = (int)(all - r.n * p.high * p.wide);
    r.h = r.column / p.wide * sweep_shape::HIGH;
    r.w = r.column % p.wide * sweep_shape::WIDE;
    return r;
}

/* A warp's tile of a run's planes, `h` lines and `w` places into a block's. */
static __device__ __forceinline__ tile sweep_tile(const sweep &p, const sweep_run &r, int h,
                                                  int w) {
    typedef sweep_shape P;
    tile t = {r.n, 0, 0, r.h + h, r.w + w, 0, 0, 0, 0, true};
    if (t.w < p.z.out.w) {
        t.lines = (int)clamp(p.z.out.h - t.h, 0, P::TILE_H);
        t.places = least(P::TILE_W, p.z.out.w - t.w);
    }
    return t;
}

/* The next plane to be fetched, of the block's planes of c from i on. */
struct sweep_cursor {
    int64_t i;
    sweep_run run;
    int plane;
};

/* A thread's packs of a plane: of lines `row`, `row` + ROWS, … of all channels'. */
struct plane_packs {
    static constexpr int PACKS = sweep_shape::PITCH / sweep_shape::PACK, ROWS = THREADS / PACKS;
    static_assert(ROWS <= sweep_shape::LINES, "the next pack is of the next channel at most");
    int at, row;

    __device__ __forceinline__ plane_packs()
        : at((int)threadIdx.x % PACKS * sweep_shape::PACK), row((int)threadIdx.x / PACKS) {
    }
    /* Calls body(line, place) with a place of each pack in shared memory; `next(over)` goes on to
     * the next pack, `over` if it is of the next channel. */
    template <typename Body, typename Next>
    __device__ __forceinline__ void each(int channels, const Body &body, const Next &next) const {
        typedef sweep_shape P;
        int place = row * P::PITCH + at, line = row;
#pragma unroll 4
        for (int r = row < ROWS ? row : channels * P::LINES; r < channels * P::LINES; r += ROWS) {
            body(line, place);
            const bool over = line + ROWS >= P::LINES;
            next(over);
            line += over ? ROWS - P::LINES : ROWS;
            place += over ? ROWS * P::PITCH + P::CHANNEL - P::LINES * P::PITCH : ROWS * P::PITCH;
        }
    }
};

/* Starts to fetch a plane, zeros where there is no position, and goes to the next one. */
static __device__ __forceinline__ void fetch_plane(const sweep &p, sweep_cursor *c, int64_t end,
                                                   float *to) {
    typedef sweep_shape P;
    if (c->i < end) {
        const plane_packs mine;
        const int w = c->run.w + mine.at, lines = (int)p.z.in.h - c->run.h;
        const float *from = p.x.data + c->run.n * p.z.ci * p.x.stride +
                            index_in(p.z.in, c->plane, c->run.h + mine.row, w);
        const int64_t step = plane_packs::ROWS * p.z.in.w,
                      over_step = step + p.x.stride - P::LINES * p.z.in.w;
        mine.each((int)p.z.ci,
                  [&](int line, int place) {
                      if (p.packed) {
                          const bool inside = line < lines && w < p.z.in.w;
                          cp_async_16(to + place, inside ? from : p.x.data,
                                      inside ? PACK_BYTES : 0);
                      } else {
                          ::pack<float> got;
                          for (int i = 0; i < P::PACK; ++i)
                              got.of[i] = line < lines && w + i < p.z.in.w ? from[i] : 0;
                          *reinterpret_cast<::pack<float> *>(to + place) = got;
                      }
                  },
                  [&](bool over) { from += over ? over_step : step; });
        if (++c->plane >= c->run.end + P::K - 1) {
            c->i += c->run.end - c->run.from;
            if (c->i < end) {
                c->run = sweep_at(p, c->i, end);
                c->plane = c->run.from;
            }
        }
    }
    cp_async_commit();
}

/* Makes operands of what this thread has fetched. */
static __device__ __forceinline__ void settle_plane(const sweep &p, float *plane) {
    typedef sweep_shape P;
    const plane_packs mine;
    mine.each((int)p.z.ci,
              [&](int, int place) {
                  ::pack<float> *const own = reinterpret_cast<::pack<float> *>(plane + place);
                  ::pack<float> v = *own;
#pragma unroll
                  for (int i = 0; i < P::PACK; ++i)
                      v.of[i] = round_to_tf32(v.of[i]);
                  *own = v;
              },
              [](bool) {});
}

/* RUNS: whether pieces are those of runs. */
template <int OCTETS, bool RUNS>
static __global__ void __launch_bounds__(THREADS, sweep_blocks<OCTETS>::COUNT)
    convolve_by_planes(sweep p, pieces<float> to, kept<float> c) {
    typedef sweep_shape P;
    typedef sweep_core<OCTETS> core_t;
    ASSAY_DYNAMIC_SHARED(float, ring);
    const int ci = (int)p.z.ci, each = core_t::weights(ci * P::K * P::K, P::K);
    float *const weights = ring + ci * P::CHANNEL;
    int64_t *const source = reinterpret_cast<int64_t *>(weights + p.groups * each);
    int *const offsets = reinterpret_cast<int *>(source + p.places);
    float *const scratch = reinterpret_cast<float *>(offsets + P::RING * p.places);
    const int64_t all = planes_of(p.z, p.high * p.wide), end = all * (blockIdx.x + 1) / gridDim.x;
    int64_t i = all * blockIdx.x / gridDim.x;
    if (i >= end)
        return;

    int fetched = 0, settled = 0, first = 0; /* planes; the first of this step */
    sweep_cursor next = {i, sweep_at(p, i, end), 0};
    next.plane = next.run.from;
    for (; fetched < P::RING; ++fetched)
        fetch_plane(p, &next, end, ring + fetched * P::PLANE);

    for (int j = (int)threadIdx.x; j < p.places; j += THREADS) {
        const int kw = j % P::K, kd = j / P::K % P::K, of = j / (P::K * P::K);
        source[j] = of < ci ? of * p.w.channel + kd * P::K * P::K + kw : -1;
        for (int slot = 0; slot < P::RING; ++slot)
            offsets[slot * p.places + j] =
                of < ci ? of * P::CHANNEL + (slot + kd) % P::RING * P::PLANE + kw
                        : slot * P::PLANE; /* of the step's, too: finite, times 0 */
    }
    __syncthreads();
    convolution<float> weights_of = {};
    weights_of.w = p.w;
    weights_of.z = p.z;
    weights_of.by_k = p.by_k;
    const slice s = {0, ci, 0, P::K, 0, P::K};
    for (int group = 0; group < p.groups; ++group)
        fetch_group<core_t>(weights_of, s, source, (int64_t)group * core_t::GROUP,
                            weights + group * each);
    if constexpr (core_t::WARPGROUP)
        fence_proxy_async();

    const int high = warp() / P::TILES_W * P::TILE_H, wide = warp() % P::TILES_W * P::TILE_W;
    window_shape view = {};
    view.pitch = P::PITCH;
    while (i < end) {
        const sweep_run run = sweep_at(p, i, end);
        tile t = sweep_tile(p, run, high, wide);
        const float *const x = ring + high * P::PITCH + wide;
        const run_statistics<core_t> known(scratch);
        if constexpr (RUNS)
            known.clear();
#pragma unroll 1
        for (int plane = run.from; plane < run.end; ++plane, ++first) {
            if (fetched < first + P::K) { /* behind another column */
                __syncthreads();
                for (; fetched < first + P::K; ++fetched)
                    fetch_plane(p, &next, end, ring + fetched % P::RING * P::PLANE);
            }
            if (fetched - first - P::K >= 2)
                cp_async_wait<2>();
            else if (fetched - first - P::K == 1)
                cp_async_wait<1>();
            else
                cp_async_wait<0>();
            for (; settled < first + P::K; ++settled)
                settle_plane(p, ring + settled % P::RING * P::PLANE);
            __syncthreads();
            for (; fetched < first + P::RING && first > 0; ++fetched)
                fetch_plane(p, &next, end, ring + fetched % P::RING * P::PLANE);
            const int *const places = offsets + first % P::RING * p.places;
            for (int group = 0; group < (RUNS ? 1 : p.groups); ++group) {
                core_t core;
                const float *const w = weights + group * each;
                if constexpr (core_t::WARPGROUP)
                    core.template add_places<P::PITCH>(x, places, p.places, w);
                else if (t.lines > 0)
                    core.add(x, view, places, s, P::K, w);
                if constexpr (!RUNS) {
                    t.channel = (int64_t)group * core_t::GROUP;
                    t.d = plane;
                    t.index = ((int64_t)plane * p.high * p.wide + run.column) * WARPS + warp();
                    take_tile(core, t, p.z, to, c);
                } else if (t.lines > 0) {
                    known.add(core, t, plane - run.from, plane + 1 == run.end);
                }
            }
        }
        if constexpr (RUNS) {
            const int64_t before = blockIdx.x - block_of(i - run.from, all);
            t.index = (run.column * p.runs + before) * WARPS + warp();
            known.write(t, run.end - run.from, run.end == p.z.out.d ? p.runs - (int)before - 1 : 0,
                        p.z.co, to);
        }
        first += P::K - 1;
        i += run.end - run.from;
    }
}

template <typename Core> static int sweep_weights(const sizes &z) {
    return (int)ceil_div(z.co, Core::GROUP) *
           Core::weights((int)z.ci * sweep_shape::K * sweep_shape::K, sweep_shape::K);
}

/* Whether this kernel makes c. */
template <typename Core> static bool sweeps(const sizes &z) {
    if constexpr (Core::ROUNDS) {
        bool hopper = true;
        if (sweep_core<Core::OCTETS_EACH>::WARPGROUP && find_hopper(&hopper) != ASSAY_OK)
            return false;
        return hopper && z.k == sweep_shape::K &&
               z.ci * sweep_shape::CHANNEL * (int64_t)sizeof(float) <= 56 << 10 &&
               sweep_weights<Core>(z) * (int64_t)sizeof(float) <= 32 << 10;
    }
    return false;
}

/* Columns of tiles of blocks of a sample. */
static inline int64_t sweep_columns(const sizes &z) {
    return ceil_div(z.out.h, sweep_shape::HIGH) * ceil_div(z.out.w, sweep_shape::WIDE);
}

/* Blocks, and the most of them that share a column. */
template <int OCTETS> static int64_t sweep_blocks_for(const sizes &z) {
    return clamp(planes_of(z, sweep_columns(z)), 0,
                 ASSAY_MULTIPROCESSORS * (int64_t)sweep_blocks<OCTETS>::COUNT);
}
template <int OCTETS> static int64_t sweep_runs(const sizes &z) {
    const int64_t blocks = sweep_blocks_for<OCTETS>(z);
    return blocks == 0 ? 1 : ceil_div(z.out.d - 1, planes_of(z, sweep_columns(z)) / blocks) + 1;
}

/* Whether pieces are those of runs. */
template <int OCTETS> static bool sweep_has_runs(const sizes &z, bool keeps) {
    return !keeps && z.co <= sweep_core<OCTETS>::GROUP;
}

/* Pieces of a sample. */
template <int OCTETS> static int64_t sweep_pieces(const sizes &z, bool keeps) {
    return sweep_columns(z) * WARPS *
           (sweep_has_runs<OCTETS>(z, keeps) ? sweep_runs<OCTETS>(z) : z.out.d);
}

template <int OCTETS>
static assay_status launch_sweep(void *stream, const rows<const float> &x,
                                 const rows<const float> &w, const sizes &z,
                                 const pieces<float> &to, const kept<float> &c) {
    typedef sweep_shape P;
    typedef sweep_core<OCTETS> core_t;
    const sweep p = {x,
                     {w.data, z.ci * w.stride, w.stride, false},
                     z,
                     divider_for(P::K),
                     (int)ceil_div(z.out.h, P::HIGH),
                     (int)ceil_div(z.out.w, P::WIDE),
                     (int)ceil_div(z.co, core_t::GROUP),
                     round_up(z.ci * P::K * P::K, 8),
                     (int)sweep_runs<OCTETS>(z),
                     packs(x, z.in)};
    const size_t shared = (size_t)(z.ci * P::CHANNEL + sweep_weights<core_t>(z)) * sizeof(float) +
                          (size_t)p.places * (sizeof(int64_t) + P::RING * sizeof(int));
    const dim3 grid((unsigned)sweep_blocks_for<OCTETS>(z));
    if (sweep_has_runs<OCTETS>(z, c.data != NULL))
        return ASSAY_LAUNCH(stream, grid, dim3(THREADS), shared + run_statistics<core_t>::BYTES,
                            (convolve_by_planes<OCTETS, true>), p, to, c);
    return ASSAY_LAUNCH(stream, grid, dim3(THREADS), shared, (convolve_by_planes<OCTETS, false>), p,
                        to, c);
}

#endif
