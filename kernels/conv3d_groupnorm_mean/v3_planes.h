/*
 * dx of v3 in TF32 where kernels are 3 x 3 x 3, x has at most eight channels, and dw has left dc in
 * memory: plane by plane of dc.
 *
 * A plane of dc counts in three planes of dx. A warp has the sums of a tile of each of the three in
 * registers, so that a block fetches a plane once, and a fragment that a lane has loaded serves the
 * nine taps of a kw. A block walks along d through columns of tiles, its share of all planes; while
 * it multiplies an octet of channels, the next one is on its way.
 */
#ifndef ASSAY_CONV3D_GROUPNORM_MEAN_V3_PLANES_H
#define ASSAY_CONV3D_GROUPNORM_MEAN_V3_PLANES_H

#include "kernels/conv3d_groupnorm_mean/v3_cotangent.h"

struct planes {
    static constexpr int K = 3, OCTET = 8; /* OCTET: channels of a stage */
    /* Tiles of a block, one a warp. */
    static constexpr int TILES_H = 2, TILES_W = WARPS / TILES_H, TILE_W = 16, TILE_H = 4,
                         HIGH = TILES_H * TILE_H, WIDE = TILES_W * TILE_W;
    /* A window begins where packs do, LEAD positions before its tiles. */
    static constexpr int PACK = PACK_BYTES / (int)sizeof(float), LEAD = PACK, LINES = HIGH + K - 1,
                         PITCH = WIDE + LEAD, CHANNEL = LINES * PITCH, STAGE = OCTET * CHANNEL,
                         STAGES = 2;
    /* Of an octet: kw slowest, then kd, then kh. */
    static constexpr int FRAGMENT = 2 * WARP, WEIGHTS = K * K * K * FRAGMENT;
    static constexpr int BLOCKS = 4; /* that a multiprocessor should have */
    static_assert(CHANNEL % BANKS == 8, "fragments are loaded without conflicts");

    kept<float> dc;
    rows<const float> w;
    rows<float> dx;
    int64_t n, ci, co;
    volume in, out; /* of dx and of dc */
    int high, wide; /* tiles of blocks in a plane of dx */
    int octets;
};

/* A run of planes [from, end) of dx in one column of tiles, and planes [first, last] of dc that
 * count in them. */
struct plane_run {
    int64_t n;
    int h, w, from, end, first, last;
};

static __device__ __forceinline__ plane_run run_at(const planes &p, int64_t i, int64_t end) {
    const int64_t column = i / p.in.d;
    plane_run r;
    r.from = (int)(i - column * p.in.d);
    r.end = least(p.in.d, r.from + end - i);
    r.n = column / (p.high * p.wide);
    const int tile = (int)(column - r.n * p.high * p.wide);
    r.h = tile / p.wide * planes::HIGH;
    r.w = tile % p.wide * planes::WIDE;
    r.first = r.from > planes::K - 1 ? r.from - (planes::K - 1) : 0;
    r.last = least(r.end, p.out.d) - 1;
    return r;
}

/* The next stage to be fetched. */
struct plane_cursor {
    int64_t i;
    plane_run run;
    int plane, octet;
};

/* Starts to fetch the stage, zeros where there is no position or no channel, and goes to the next
 * one. Each thread takes a pack of some lines. */
static __device__ __forceinline__ void fetch_stage(const planes &p, plane_cursor *c, int64_t end,
                                                   float *to) {
    typedef planes P;
    constexpr int PACKS = P::PITCH / P::PACK, ROWS = THREADS / PACKS;
    if (c->i < end) {
        const int pack = (int)threadIdx.x % PACKS, row = (int)threadIdx.x / PACKS;
        const int64_t line = p.dc.line, channel = p.out.h * p.out.d * line;
        const int h = c->run.h - (P::K - 1), w = c->run.w - P::LEAD + pack * P::PACK;
        const int channels = least(P::OCTET, p.co - c->octet * P::OCTET);
        const float *const from = p.dc.data + (c->run.n * p.co + c->octet * P::OCTET) * channel +
                                  c->plane * p.out.h * line + w;
        const bool inside = row < ROWS && w >= 0 && w < p.out.w;
#pragma unroll 4
        for (int r = row; r < P::OCTET * P::LINES; r += ROWS) {
            const int of = r / P::LINES, l = r - of * P::LINES + h;
            const bool there = inside && of < channels && l >= 0 && l < p.out.h;
            if (row < ROWS)
                cp_async_16(to + r * P::PITCH + pack * P::PACK,
                            there ? from + of * channel + l * line : p.dc.data,
                            there ? PACK_BYTES : 0);
        }
        if (++c->octet == p.octets) {
            c->octet = 0;
            if (++c->plane > c->run.last) {
                c->i += c->run.end - c->run.from;
                if (c->i < end) {
                    c->run = run_at(p, c->i, end);
                    c->plane = c->run.first;
                }
            }
        }
    }
    cp_async_commit();
}

/* The products of a stage: `x` begins at the lane's first element, `w` at its weights. */
static __device__ __forceinline__ void add_stage(const float *x, const float *w,
                                                 float (&sum)[planes::K][planes::TILE_H][4]) {
    typedef planes P;
    struct alignas(2 * sizeof(float)) couple {
        float of[2];
    };
#pragma unroll 1
    for (int kw = 0; kw < P::K; ++kw, ++x, w += P::K * P::K * P::FRAGMENT) {
        uint32_t y[P::K][P::K][2];
#pragma unroll
        for (int d = 0; d < P::K; ++d)
#pragma unroll
            for (int h = 0; h < P::K; ++h) {
                const couple v =
                    *reinterpret_cast<const couple *>(w + (d * P::K + h) * P::FRAGMENT);
                y[d][h][0] = __float_as_uint(v.of[0]);
                y[d][h][1] = __float_as_uint(v.of[1]);
            }
#pragma unroll
        for (int l = 0; l < P::TILE_H + P::K - 1; ++l) {
            const float *const low = x + l * P::PITCH, *const high = low + 4 * P::CHANNEL;
            const uint32_t a[4] = {__float_as_uint(low[0]), __float_as_uint(low[8]),
                                   __float_as_uint(high[0]), __float_as_uint(high[8])};
#pragma unroll
            for (int h = 0; h < P::K; ++h)
                if (l - h >= 0 && l - h < P::TILE_H)
#pragma unroll
                    for (int d = 0; d < P::K; ++d)
                        mma_m16n8k8_tf32(sum[d][l - h], a, y[d][h]);
        }
    }
}

static __device__ __forceinline__ void keep_plane(const planes &p, const plane_run &r, int plane,
                                                  int h, int w,
                                                  const float (&sum)[planes::TILE_H][4]) {
    const int g = lane() / 4, t = lane() % 4;
#pragma unroll
    for (int c = 0; c < 2; ++c) {
        if (2 * t + c >= p.ci)
            continue;
        float *here =
            p.dx.data + (r.n * p.ci + 2 * t + c) * p.dx.stride + index_in(p.in, plane, h, w + g);
#pragma unroll
        for (int l = 0; l < planes::TILE_H; ++l, here += p.in.w) {
            if (h + l < p.in.h && w + g < p.in.w)
                here[0] = sum[l][c];
            if (h + l < p.in.h && w + g + 8 < p.in.w)
                here[8] = sum[l][2 + c];
        }
    }
}

/* The weights, in fragments as lanes take them: of flipped taps; 0 where there is no channel. */
static __device__ __forceinline__ void fetch_plane_weights(const planes &p, float *to) {
    typedef planes P;
    for (int e = (int)threadIdx.x; e < p.octets * P::WEIGHTS; e += THREADS) {
        const int place = e % P::FRAGMENT, fragment = e / P::FRAGMENT, kh = fragment % P::K,
                  kd = fragment / P::K % P::K, kw = fragment / (P::K * P::K) % P::K,
                  octet = fragment / (P::K * P::K * P::K);
        const int64_t co = octet * P::OCTET + place / 2 % 4 + place % 2 * 4, ci = place / 8;
        const int tap = (kd * P::K + P::K - 1 - kh) * P::K + P::K - 1 - kw;
        to[e] = co < p.co && ci < p.ci
                    ? round_to_tf32(p.w.data[(co * p.ci + ci) * p.w.stride + tap])
                    : 0;
    }
}

static __global__ void __launch_bounds__(THREADS, planes::BLOCKS)
    input_gradient_by_planes(planes p) {
    typedef planes P;
    ASSAY_DYNAMIC_SHARED(float, stages);
    float *const weights = stages + P::STAGES * P::STAGE;
    const int64_t all = p.n * p.high * p.wide * p.in.d, end = all * (blockIdx.x + 1) / gridDim.x;
    int64_t i = all * blockIdx.x / gridDim.x;
    if (i >= end)
        return;
    plane_cursor next = {i, run_at(p, i, end), 0, 0};
    next.plane = next.run.first;
    fetch_stage(p, &next, end, stages);
    fetch_plane_weights(p, weights);

    const int high = warp() / P::TILES_W * P::TILE_H, wide = warp() % P::TILES_W * P::TILE_W;
    const int mine =
        lane() % 4 * P::CHANNEL + high * P::PITCH + wide + P::LEAD - (P::K - 1) + lane() / 4;
    int stage = 0;
    while (i < end) {
        const plane_run run = run_at(p, i, end);
        float sum[P::K][P::TILE_H][4] = {};
#pragma unroll 1
        for (int plane = run.from - (P::K - 1); plane < run.end; ++plane) {
            if (run.first <= plane && plane <= run.last)
#pragma unroll 1
                for (int octet = 0; octet < p.octets; ++octet) {
                    cp_async_wait<0>();
                    __syncthreads();
                    fetch_stage(p, &next, end, stages + (stage ^ 1) * P::STAGE);
                    add_stage(stages + stage * P::STAGE + mine,
                              weights + octet * P::WEIGHTS + 2 * lane(), sum);
                    stage ^= 1;
                }
            if (plane >= run.from)
                keep_plane(p, run, plane, run.h + high, run.w + wide, sum[0]);
#pragma unroll
            for (int l = 0; l < P::TILE_H; ++l)
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    sum[0][l][e] = sum[1][l][e];
                    sum[1][l][e] = sum[2][l][e];
                    sum[2][l][e] = 0;
                }
        }
        i += run.end - run.from;
    }
}

/* Whether this kernel makes dx, of a dc that dw has made. */
static inline bool goes_by_planes(const sizes &z) {
    return z.k == planes::K && z.ci <= planes::OCTET &&
           ceil_div(z.co, planes::OCTET) * planes::WEIGHTS * (int64_t)sizeof(float) <= 32 << 10;
}

static inline assay_status launch_by_planes(void *stream, const sizes &z, const kept<float> &dc,
                                            const rows<const float> &w, const rows<float> &dx) {
    typedef planes P;
    const planes p = {dc,
                      w,
                      dx,
                      z.n,
                      z.ci,
                      z.co,
                      z.in,
                      z.out,
                      (int)ceil_div(z.in.h, P::HIGH),
                      (int)ceil_div(z.in.w, P::WIDE),
                      (int)ceil_div(z.co, P::OCTET)};
    const int64_t all = z.n * p.high * p.wide * z.in.d;
    return ASSAY_LAUNCH(stream, dim3((unsigned)clamp(all, 0, ASSAY_MULTIPROCESSORS * P::BLOCKS)),
                        dim3(THREADS),
                        (size_t)(P::STAGES * P::STAGE + p.octets * P::WEIGHTS) * sizeof(float),
                        input_gradient_by_planes, p);
}

#endif
