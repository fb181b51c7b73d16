/*
 * dS of attention v3 in strict fp32, kept in the workspace: on CUDA cores, products that make P and
 * dS again for dq cost more than 8 bytes a score. gradients_of_keys writes dS of a part of the
 * scores, gradients_from_slopes adds its product with the keys to dq, then the next part takes its
 * place. A part has up to part_keys() keys, of one head or of several, so that the workspace grows
 * with sq, not with sq sk.
 */
#ifndef ASSAY_ATTENTION_V3_SLOPES_H
#define ASSAY_ATTENTION_V3_SLOPES_H

#include "kernels/attention/v3_splits.h"

enum {
    KEYS_EACH = 512, /* for each multiprocessor: two blocks with 256 */
    PIECE = 32,      /* a core writes dS of so many keys and queries together, or of fewer */
};

static inline int64_t part_keys() {
    return (int64_t)KEYS_EACH * ASSAY_MULTIPROCESSORS;
}

/* dS transposed: a line for each key of each head, with its queries side by side. */
struct slopes {
    float *data;
    int64_t stride, lines; /* of a head */
};

/* The part with the keys from `key` on of the heads from `head` on. */
static inline share part_at(const sizes &n, int64_t head, int64_t key) {
    const int64_t heads = part_keys() / clamp(n.sk, 1, part_keys());
    return {head, clamp(n.heads - head, 0, heads), key, clamp(n.sk - key, 0, part_keys())};
}

/* The part behind it; the last one is followed by one of no heads. */
static inline share part_behind(const sizes &n, const share &part) {
    const int64_t key = part.key + part.keys;
    return key < n.sk ? part_at(n, part.head, key) : part_at(n, part.head + part.heads, 0);
}

static inline slopes slopes_of(const sizes &n, float *memory) {
    const share part = part_at(n, 0, 0);
    return {memory, ceil_div(n.sq, PIECE) * PIECE, ceil_div(part.keys, PIECE) * PIECE};
}

static inline size_t slopes_bytes(const sizes &n) {
    const slopes s = slopes_of(n, NULL);
    return (size_t)(part_at(n, 0, 0).heads * s.lines * s.stride) * sizeof(float);
}

/* Keeps a warp's dS, whose keys begin at `key` and queries at `query`. */
template <typename Core, typename Scores>
static __device__ __forceinline__ void keep(Scores &ds, const slopes &to, const share &part,
                                            int64_t head, int64_t key, int64_t query) {
    float *const first =
        to.data + ((head - part.head) * to.lines + key - part.key) * to.stride + query;
    UNROLL
    for (int r = 0; r < Scores::HEIGHT; ++r) {
        UNROLL
        for (int c = 0; c < Scores::WIDTH; ++c)
            first[Core::row(r) * to.stride + Core::score_column(c)] = ds.at(r, c);
    }
}

/* The packs of dS that a thread fetches: of these queries, one of every STEP keys of a part. */
template <typename Plan> struct slope_packs {
    static constexpr int PACKS = Plan::ROWS / pack<float>, STEP = Plan::THREADS / PACKS;
    const float *from; /* for the thread's first key */
    int64_t stride;
    static_assert(Plan::KEYS % STEP == 0);
    int left; /* keys behind it that the last of these queries sees; other packs are not written */

    __device__ __forceinline__ slope_packs(const slopes &kept, const sizes &n, const share &part,
                                           const place &at) {
        const int64_t line = (int)threadIdx.x / PACKS;
        const int64_t query = at.row + (int)threadIdx.x % PACKS * pack<float>;
        from = kept.data + ((at.head - part.head) * kept.lines + line) * kept.stride + query;
        stride = kept.stride;
        const int64_t seen = visible_keys(n, clamp(query + pack<float> - 1, 0, n.sq - 1));
        left = query < n.sq ? (int)clamp(seen - part.key - line, 0, part.keys - line) : 0;
    }

    /* Starts to fetch for a slice's keys, of which the part's first is this far behind. */
    __device__ __forceinline__ void fetch(int behind, float *to) const {
        to += (int)threadIdx.x * pack<float>;
        UNROLL
        for (int i = 0; i < Plan::KEYS; i += STEP) {
            const bool written = behind + i < left;
            cp_async_16(to + i * Plan::ROWS, written ? from + (behind + i) * stride : from,
                        written ? PACK_BYTES : 0);
        }
    }
};

/* Elements of shared memory: the stages, or the sums of warps that share rows. */
template <typename Plan> static constexpr int slopes_shared() {
    return splits_shared<Plan>(Plan::STAGES * Plan::STAGE);
}

/* A lane's part of dq. */
template <typename Plan> struct slope_sums {
    enum { HEIGHT = 8, WIDTH = 8 };
    float value[HEIGHT][WIDTH];

    __device__ __forceinline__ float &at(int i, int j) {
        return value[i][j];
    }

    /* Adds the products with this warp's keys of a slice. */
    __device__ __forceinline__ void add(const float *slice) {
        constexpr int LINE = tile_stride<float, Plan::D>;
        const int key = split<Plan>() * Plan::DEPTH;
        const float *a = slice + key * Plan::ROWS + Plan::row(0);
        const float *b = slice + Plan::LEFT + key * LINE + Plan::column(0);
        UNROLL
        for (int k = 0; k < Plan::DEPTH; ++k) {
            float x[2][4], y[2][4];
            UNROLL
            for (int i = 0; i < 2; ++i) {
                fma_core::load(x[i], a + k * Plan::ROWS + Plan::row(4 * i) - Plan::row(0));
                fma_core::load(y[i], b + k * LINE + Plan::column(4 * i) - Plan::column(0));
            }
            UNROLL
            for (int i = 0; i < HEIGHT; ++i) {
                UNROLL
                for (int j = 0; j < WIDTH; ++j)
                    value[i][j] = fma_(x[i / 4][i % 4], y[j / 4][j % 4], value[i][j]);
            }
        }
    }
};

/* Adds dS k of one part to dq of a tile of queries, and multiplies by 1 / √d behind the last. */
template <typename Plan>
static __device__ __forceinline__ void
add_slopes(const sizes &n, const share &part, const slopes &from, const sequence<const float> &k,
           const sequence<float> &dq, const place &at) {
    ASSAY_DYNAMIC_SHARED(float, shared);
    const sequence<const float> keys = head_of(k, at.head);
    const sequence<float> out = head_of(dq, at.head);
    const int end = (int)clamp(keys_in_reach(n, at.row, Plan::ROWS) - part.key, 0, part.keys);

    slope_sums<Plan> sums;
    UNROLL
    for (int i = 0; i < sums.HEIGHT; ++i) {
        UNROLL
        for (int j = 0; j < sums.WIDTH; ++j) {
            const int64_t query = at.row + Plan::row(i);
            const bool begun =
                part.key > 0 && split<Plan>() == 0 && query < n.sq && Plan::column(j) < out.d;
            sums.at(i, j) = begun ? out.data[query * out.stride + Plan::column(j)] : 0;
        }
    }
    const slope_packs<Plan> packs(from, n, part, at);
    const auto start = [&](int key, int stage) {
        float *const to = shared + stage * Plan::STAGE;
        if (key < end) {
            packs.fetch(key, to);
            fetch<Plan::KEYS, Plan::D, Plan::THREADS>(keys, part.key + key, to + Plan::LEFT);
        }
        cp_async_commit(); /* an empty group behind the last slice keeps the count below */
    };
    for (int s = 0; s < Plan::STAGES - 1; ++s)
        start(s * Plan::KEYS, s);
    int stage = 0;
    for (int key = 0; key < end; key += Plan::KEYS) {
        cp_async_wait<Plan::STAGES - 2>();
        /* All threads have this slice, and have left the last one, whose stage is next to fill. */
        __syncthreads();
        start(key + (Plan::STAGES - 1) * Plan::KEYS, stage == 0 ? Plan::STAGES - 1 : stage - 1);
        sums.add(shared + stage * Plan::STAGE);
        stage = stage == Plan::STAGES - 1 ? 0 : stage + 1;
    }
    if constexpr (Plan::SPLITS > 1) {
        add_splits<Plan>(sums, shared);
        if (split<Plan>() > 0)
            return;
    }
    UNROLL
    for (int i = 0; i < sums.HEIGHT; ++i) {
        UNROLL
        for (int j = 0; j < sums.WIDTH; ++j) {
            const int64_t query = at.row + Plan::row(i);
            if (query < n.sq && Plan::column(j) < out.d)
                out.data[query * out.stride + Plan::column(j)] =
                    sums.at(i, j) * (part.key + part.keys == n.sk ? n.scale : 1);
        }
    }
}

template <typename Plan>
static __global__ void __launch_bounds__(Plan::THREADS, Plan::BLOCKS)
    gradients_from_slopes(sizes n, share part, slopes from, sequence<const float> k,
                          sequence<float> dq) {
    add_slopes<Plan>(n, part, from, k, dq, query_place<Plan>(blockIdx.x, n, part));
}

#endif
