/*
 * Shared by both directions of attention v3_hopper: boxes of a head in shared memory, a
 * warpgroup's sums in registers, and how they become operands and rows of a result.
 */
#ifndef ASSAY_ATTENTION_HOPPER_CORE_H
#define ASSAY_ATTENTION_HOPPER_CORE_H

#include "kernels/attention/v3_plan.h"
#include "kernels/common/hopper.h"

enum {
    GROUP = 128,     /* threads of a warpgroup */
    GROUP_ROWS = 64, /* of its products */
    STEP = 16,       /* of k, of a wgmma */
    BOX = TENSOR_BOX_LENGTH,
    PACK = 8, /* elements of 16 bytes */
};

/* In units of 16 bytes, as descriptors have it. */
static constexpr int BOX_STEP = STEP * 2 / 16, LINE_STEP = STEP * TENSOR_LINE_BYTES / 16;

/* One thread starts to load LINES lines of a head, D columns: boxes side by side. */
template <int D, int LINES>
static __device__ __forceinline__ void load_lines(unsigned char *to, const tensor_map *map,
                                                  int64_t line, int64_t head, uint64_t *full) {
    for (int i = 0; i < D / BOX; ++i)
        tensor_load(to + i * LINES * TENSOR_LINE_BYTES, map, i * BOX, (int32_t)line, (int32_t)head,
                    full);
}

/* Where a role is in a ring of STAGES stages. */
template <int STAGES> struct ring_place {
    int stage;
    uint32_t round; /* parity */

    __device__ __forceinline__ void next() {
        if (++stage == STAGES) {
            stage = 0;
            round ^= 1;
        }
    }
};

/* The warp's number as its first lane has it: nvcc sees then that lanes do not part by it. */
static __device__ __forceinline__ int uniform_warp() {
    return __shfl_sync(UINT32_MAX, warp(), 0);
}
static constexpr int GROUP_WARPS = GROUP / WARP;
static __device__ __forceinline__ bool leads_group() {
    return threadIdx.x % GROUP == 0;
}

/* This thread's of 64 x N sums, rows as tensor_core has them. */
template <int N> struct hopper_sums {
    enum { HEIGHT = 2, WIDTH = N / 4 };
    float value[N / 2];

    __device__ __forceinline__ float &at(int r, int c) {
        return value[c / 2 * 4 + r * 2 + c % 2];
    }
};

/* x = a bᵀ begins: 64 lines of a, N lines of b, D columns each. `a` lies in boxes of A_LINES.
 * Before the products of each box comes before(box). */
template <int D, int A_LINES, typename T, int N, typename Before>
static __device__ __forceinline__ void start_scores(hopper_sums<N> &x, uint32_t a, uint32_t b,
                                                    Before before) {
    const uint64_t left = wgmma_descriptor(a, 0), right = wgmma_descriptor(b, 0);
    UNROLL
    for (int i = 0; i < D / STEP; ++i) {
        const int box = i * STEP / BOX, inside = i % (BOX / STEP) * BOX_STEP;
        if (inside == 0)
            before(box);
        wgmma<T, false, false>(x.value, left + box * A_LINES * TENSOR_LINE_BYTES / 16 + inside,
                               right + box * N * TENSOR_LINE_BYTES / 16 + inside, i > 0);
    }
    wgmma_commit();
}

template <int D, int A_LINES, typename T, int N>
static __device__ __forceinline__ void start_scores(hopper_sums<N> &x, uint32_t a, uint32_t b) {
    start_scores<D, A_LINES, T>(x, a, b, [](int) {});
}

/* x += p b begins: p's 64 rows in registers, K lines of b, N columns. */
template <typename T, int STEPS, int N>
static __device__ __forceinline__ void start_results(hopper_sums<N> &x,
                                                     const uint32_t (&p)[STEPS][4], uint32_t b) {
    const uint64_t right = wgmma_descriptor(b, STEPS * STEP * TENSOR_LINE_BYTES);
    UNROLL
    for (int i = 0; i < STEPS; ++i)
        wgmma<T, true>(x.value, p[i], right + i * LINE_STEP, true);
    wgmma_commit();
}

/* The sums of two wgmmas' columns are the left operand of one. */
template <typename T, int N>
static __device__ __forceinline__ void round_weights(uint32_t (&p)[N / STEP][4],
                                                     const hopper_sums<N> &s) {
    UNROLL
    for (int i = 0; i < N / STEP; ++i) {
        UNROLL
        for (int j = 0; j < 4; ++j)
            p[i][j] = pair_bits(s.value[8 * i + 2 * j], s.value[8 * i + 2 * j + 1], T());
    }
}

/* A result's rows, `pairs`: whole, aligned pairs of elements, `packs`: so many as 16 bytes have. */
template <typename T> struct result_rows {
    sequence<T> of;
    bool pairs, packs;
};

template <typename T> static inline result_rows<T> result_rows_of(const assay_tensor *t) {
    const sequence<T> x = sequence_of<T>(t);
    const auto come_in = [&](int64_t elements) {
        return x.d % elements == 0 && x.stride % elements == 0 &&
               (uintptr_t)x.data % ((size_t)elements * sizeof(T)) == 0;
    };
    return {x, come_in(2), come_in(PACK)};
}

/* Of four lanes, each with a word of each of four units: lane t's become the words of unit t. */
static __device__ __forceinline__ void trade_words(uint32_t (&w)[4]) {
    UNROLL
    for (int far = 1; far <= 2; far *= 2) {
        const bool upper = (lane() & far) != 0;
        UNROLL
        for (int u = 0; u < 4; ++u) {
            if ((u & far) != 0)
                continue;
            const uint32_t got = __shfl_xor_sync(UINT32_MAX, upper ? w[u] : w[u + far], far);
            w[u] = upper ? got : w[u];
            w[u + far] = upper ? w[u + far] : got;
        }
    }
}

/* Words of four units of a row, 8 columns each, go to the columns from `column` on, before `d`. */
template <typename T>
static __device__ __forceinline__ void store_packs(T *to, int column, int d, uint32_t (&words)[4]) {
    const int there = column + PACK * tensor_core<T>::mate();
    trade_words(words);
    if (there < d)
        __stwb(reinterpret_cast<uint4 *>(to + there),
               make_uint4(words[0], words[1], words[2], words[3]));
}

template <typename T>
static __device__ __forceinline__ void store_pairs(T *to, int column, int d,
                                                   const uint32_t (&words)[4]) {
    typedef std::conditional_t<std::is_same_v<T, __half>, __half2, __nv_bfloat162> pair;
    UNROLL
    for (int u = 0; u < 4; ++u) {
        const int there = column + tensor_core<T>::score_column(2 * u);
        pair both;
        memcpy(&both, &words[u], sizeof both);
        if (there < d)
            *reinterpret_cast<pair *>(to + there) = both;
    }
}

/* Rows from `first` and columns from `column` on become finish(r, sum), rounded. All of the warp
 * come here. */
template <typename T, int N, typename Finish>
static __device__ __forceinline__ void store_sums(hopper_sums<N> &sums, const result_rows<T> &rows,
                                                  int64_t head, int64_t first, int column,
                                                  Finish finish) {
    const sequence<T> to = head_of(rows.of, head);
    if (!rows.pairs) {
        store<tensor_core<T>>(sums, to, first, column, finish);
        return;
    }
    const auto each_unit = [&](auto store_unit) {
        UNROLL
        for (int r = 0; r < 2; ++r) {
            const int64_t row = first + tensor_core<T>::row(r);
            const int d = row < to.length ? (int)to.d : 0;
            T *const of_row = to.data + row * to.stride;
            UNROLL
            for (int c = 0; c < hopper_sums<N>::WIDTH; c += 8) {
                uint32_t words[4];
                UNROLL
                for (int u = 0; u < 4; ++u)
                    words[u] = pair_bits(finish(r, sums.at(r, c + 2 * u)),
                                         finish(r, sums.at(r, c + 2 * u + 1)), T());
                store_unit(of_row, column + 4 * c, d, words);
            }
        }
    };
    /* Two loops without branches, whose trades overlap. */
    if (rows.packs)
        each_unit([](T *row, int c, int d, uint32_t(&w)[4]) { store_packs(row, c, d, w); });
    else
        each_unit([](T *row, int c, int d, uint32_t(&w)[4]) { store_pairs(row, c, d, w); });
}

#endif
