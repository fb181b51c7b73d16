/*
 * How a warp of attention v3 multiplies. A warp has 16 BANDS rows of a product, whose sums lie in
 * the registers of its lanes. A core has
 *
 *     storage              the type of the operands
 *     MATES, APART         lanes that share each of their rows, and how far apart they are
 *     ALTERNATES           whether shared memory has one stage of keys and of values forward, which
 *                          come by turns, not two of both
 *     KEEPS_SLOPES         whether backward makes dS once and keeps it (v3_slopes.h)
 *     sums<BANDS, N>       at(r, c), r < HEIGHT, c < WIDTH: this lane's of 16 BANDS x N sums
 *     mate()               this lane's number among those that share its rows
 *     row(r)               row of at(r, c)
 *     score_column(c)      its column in the sums of add_scores,
 *     result_column<WIDTH>(c)
 *                          and in those of add_results
 *     add_scores<D>(s, a, b)
 *                          s += a bᵀ: 16 BANDS rows of tile a, N rows of tile b
 *     add_results<D>(o, p, b, scratch)
 *                          o += p b: p as add_scores leaves it, as many rows of tile b as p has
 *                          columns, N columns of it
 *     recall(p, scratch)   p is what add_results was given last
 *     scratch<BANDS, N>    elements of shared memory that each warp lends to add_results
 *
 * Tiles have rows of D elements (v3_tile.h). What is summed over ascends in steps of the
 * instruction. The registers of add_scores are add_results' left operand as they are: on tensor
 * cores no score passes through shared memory.
 */
#ifndef ASSAY_ATTENTION_V3_CORE_H
#define ASSAY_ATTENTION_V3_CORE_H

#include "kernels/attention/v3_tile.h"

static __device__ __forceinline__ void mma(float c[4], const uint32_t a[4], const uint32_t b[2],
                                           __nv_bfloat16) {
    mma_m16n8k16_bf16(c, a, b);
}
static __device__ __forceinline__ void mma(float c[4], const uint32_t a[4], const uint32_t b[2],
                                           __half) {
    mma_m16n8k16_f16(c, a, b);
}
static __device__ __forceinline__ void mma(float c[4], const uint32_t a[4], const uint32_t b[2],
                                           float) {
    mma_m16n8k8_tf32(c, a, b);
}

static __device__ __forceinline__ uint32_t pair_bits(float low, float high, __nv_bfloat16) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    uint32_t bits;
    memcpy(&bits, &pair, sizeof bits);
    return bits;
}
static __device__ __forceinline__ uint32_t pair_bits(float low, float high, __half) {
    const __half2 pair = __floats2half2_rn(low, high);
    uint32_t bits;
    memcpy(&bits, &pair, sizeof bits);
    return bits;
}

/* What the instruction cuts to the nearest TF32; in the middle, away from zero. A NaN's bits may
 * have no room for the carry. */
static __device__ __forceinline__ uint32_t tf32_bits(float x) {
    const uint32_t bits = __float_as_uint(x);
    return x == x ? bits + 0x1000 : bits;
}

/* bf16 and f16 by m16n8k16, fp32 as TF32 by m16n8k8: of each row a step takes two packs. Fragments
 * are numbered by g = lane / 4 and t = lane % 4 (kernels/common/tensor.h). */
template <typename T> struct tensor_core {
    typedef T storage;
    enum { MATES = 4, APART = 1, STEP = 2 * pack<T> };
    enum { ALTERNATES = false, SPLITS = false, KEEPS_SLOPES = false };
    template <int BANDS, int N> static constexpr int scratch = 0;

    template <int BANDS, int N> struct sums {
        enum { HEIGHT = 2 * BANDS, WIDTH = N / 4 };
        float value[BANDS][N / 8][4] = {};

        __device__ __forceinline__ float &at(int r, int c) {
            return value[r / 2][c / 2][r % 2 * 2 + c % 2];
        }
    };

    static __device__ __forceinline__ int mate() {
        return lane() % MATES;
    }
    static __device__ __forceinline__ int row(int r) {
        return r / 2 * 16 + r % 2 * 8 + lane() / 4;
    }
    static __device__ __forceinline__ int score_column(int c) {
        return c / 2 * 8 + lane() % 4 * 2 + c % 2;
    }
    template <int WIDTH> static __device__ __forceinline__ int result_column(int c) {
        return score_column(c);
    }

    template <int D, int BANDS, int N>
    static __device__ __forceinline__ void add_scores(sums<BANDS, N> &s, const T *a, const T *b) {
        constexpr int STRIDE = tile_stride<T, D>;
        const int line = lane() % 8, odd = lane() / 8 % 2, upper = lane() / 16;
        a += (odd * 8 + line) * STRIDE + upper * pack<T>;
        b += (upper * 8 + line) * STRIDE + odd * pack<T>;
        UNROLL_BY(4)
        for (int k = 0; k < D; k += STEP) {
            uint32_t x[BANDS][4];
            UNROLL
            for (int i = 0; i < BANDS; ++i)
                ldmatrix_x4(x[i], a + 16 * i * STRIDE + k);
            UNROLL
            for (int j = 0; j < N / 16; ++j) {
                uint32_t y[4];
                ldmatrix_x4(y, b + 16 * j * STRIDE + k);
                UNROLL
                for (int i = 0; i < 2 * BANDS; ++i)
                    mma(s.value[i / 2][2 * j + i % 2], x[i / 2], y + i % 2 * 2, T());
            }
        }
    }

    /* Columns k of p as a left operand. The accumulators of two neighbouring 8-column tiles are one
     * of m16n8k16. For m16n8k8 column 2t stands at t and column 2t + 1 at t + 4: the rows of b are
     * taken in the same order. */
    template <int BANDS, int K>
    static __device__ __forceinline__ void operand(uint32_t x[4], const sums<BANDS, K> &p, int i,
                                                   int k) {
        const float *v = p.value[i][k / 8];
        if constexpr (std::is_same_v<T, float>) {
            x[0] = tf32_bits(v[0]);
            x[1] = tf32_bits(v[2]);
            x[2] = tf32_bits(v[1]);
            x[3] = tf32_bits(v[3]);
        } else {
            const float *w = p.value[i][k / 8 + 1];
            x[0] = pair_bits(v[0], v[1], T());
            x[1] = pair_bits(v[2], v[3], T());
            x[2] = pair_bits(w[0], w[1], T());
            x[3] = pair_bits(w[2], w[3], T());
        }
    }

    /* The first rows of b and 16 columns of it as two right operands. */
    template <int STRIDE>
    static __device__ __forceinline__ void operands(uint32_t y[4], const T *b) {
        if constexpr (std::is_same_v<T, float>) {
            const int g = lane() / 4, t = lane() % 4;
            UNROLL
            for (int e = 0; e < 4; ++e)
                y[e] = __float_as_uint(b[(2 * t + e % 2) * STRIDE + e / 2 * 8 + g]);
        } else {
            ldmatrix_x4_trans(y, b + lane() % 16 * STRIDE + lane() / 16 * 8);
        }
    }

    template <int D, int BANDS, int K, int N>
    static __device__ __forceinline__ void add_results(sums<BANDS, N> &o, const sums<BANDS, K> &p,
                                                       const T *b, T *) {
        constexpr int STRIDE = tile_stride<T, D>;
        UNROLL
        for (int k = 0; k < K; k += STEP) {
            uint32_t x[BANDS][4];
            UNROLL
            for (int i = 0; i < BANDS; ++i)
                operand(x[i], p, i, k);
            UNROLL
            for (int j = 0; j < N / 16; ++j) {
                uint32_t y[4];
                operands<STRIDE>(y, b + k * STRIDE + 16 * j);
                UNROLL
                for (int i = 0; i < 2 * BANDS; ++i)
                    mma(o.value[i / 2][2 * j + i % 2], x[i / 2], y + i % 2 * 2, T());
            }
        }
    }

    /* p has never left its registers. */
    template <typename Scores> static __device__ __forceinline__ void recall(Scores &, const T *) {
    }
};

/*
 * fp32 on CUDA cores: chains of multiply-adds. Lanes are 4 down and 8 across, so numbered that of
 * every half warp neighbours, or lanes two apart, read the same 16 bytes.
 */
struct fma_core {
    typedef float storage;
    enum { DOWN = 4, MATES = 8, APART = 2, ALTERNATES = true, SPLITS = true, KEEPS_SLOPES = true };
    enum { PADDING = 8 /* spreads the rows of the scratch over the banks */ };
    template <int BANDS, int N> static constexpr int scratch = 16 * BANDS *(N + PADDING);

    template <int BANDS, int N> struct sums {
        enum { HEIGHT = 16 * BANDS / DOWN, WIDTH = N / MATES };
        float value[HEIGHT][WIDTH] = {};

        __device__ __forceinline__ float &at(int r, int c) {
            return value[r][c];
        }
    };

    static __device__ __forceinline__ int mate() {
        return lane() / APART % MATES;
    }
    static __device__ __forceinline__ int row(int r) {
        return r * DOWN + lane() % 2 + lane() / 16 * 2;
    }
    static __device__ __forceinline__ int score_column(int c) {
        return c * MATES + mate();
    }
    /* Columns of a row of WIDTH that a lane has side by side: as many as one access brings. */
    template <int WIDTH> static constexpr int side_by_side = WIDTH < 4 ? WIDTH : 4;
    template <int WIDTH> static __device__ __forceinline__ int result_column(int c) {
        constexpr int VECTOR = side_by_side<WIDTH>;
        return c / VECTOR * VECTOR * MATES + mate() * VECTOR + c % VECTOR;
    }

    static __device__ __forceinline__ void load(float (&to)[4], const float *from) {
        const float4 v = *reinterpret_cast<const float4 *>(from);
        to[0] = v.x;
        to[1] = v.y;
        to[2] = v.z;
        to[3] = v.w;
    }
    static __device__ __forceinline__ void load(float (&to)[2], const float *from) {
        const float2 v = *reinterpret_cast<const float2 *>(from);
        to[0] = v.x;
        to[1] = v.y;
    }

    template <int D, int BANDS, int N>
    static __device__ __forceinline__ void add_scores(sums<BANDS, N> &s, const float *a,
                                                      const float *b) {
        typedef sums<BANDS, N> S;
        constexpr int STRIDE = tile_stride<float, D>;
        a += row(0) * STRIDE;
        b += score_column(0) * STRIDE;
        UNROLL_BY(1)
        for (int k = 0; k < D; k += 4) {
            float x[S::HEIGHT][4];
            UNROLL
            for (int r = 0; r < S::HEIGHT; ++r)
                load(x[r], a + r * DOWN * STRIDE + k);
            UNROLL
            for (int c = 0; c < S::WIDTH; ++c) {
                float y[4];
                load(y, b + c * MATES * STRIDE + k);
                UNROLL
                for (int e = 0; e < 4; ++e) {
                    UNROLL
                    for (int r = 0; r < S::HEIGHT; ++r)
                        s.value[r][c] = fma_(x[r][e], y[e], s.value[r][c]);
                }
            }
        }
    }

    /* What add_results was given last: until then its registers are free. */
    template <int BANDS, int K>
    static __device__ __forceinline__ void recall(sums<BANDS, K> &p, const float *scratch) {
        typedef sums<BANDS, K> S;
        UNROLL
        for (int r = 0; r < S::HEIGHT; ++r) {
            UNROLL
            for (int c = 0; c < S::WIDTH; ++c)
                p.value[r][c] = scratch[row(r) * (K + PADDING) + score_column(c)];
        }
    }

    template <int D, int BANDS, int K, int N>
    static __device__ __forceinline__ void add_results(sums<BANDS, N> &o, const sums<BANDS, K> &p,
                                                       const float *b, float *scratch) {
        typedef sums<BANDS, N> S;
        constexpr int STRIDE = tile_stride<float, D>, LINE = K + PADDING;
        constexpr int VECTOR = side_by_side<S::WIDTH>;
        UNROLL
        for (int r = 0; r < S::HEIGHT; ++r) {
            UNROLL
            for (int c = 0; c < K / MATES; ++c)
                scratch[row(r) * LINE + score_column(c)] = p.value[r][c];
        }
        __syncwarp();
        const float *a = scratch + row(0) * LINE;
        b += result_column<S::WIDTH>(0);
        UNROLL_BY(1)
        for (int k = 0; k < K; k += 4) {
            float x[S::HEIGHT][4];
            UNROLL
            for (int r = 0; r < S::HEIGHT; ++r)
                load(x[r], a + r * DOWN * LINE + k);
            UNROLL
            for (int e = 0; e < 4; ++e) {
                UNROLL
                for (int c = 0; c < S::WIDTH; c += VECTOR) {
                    float y[VECTOR];
                    load(y, b + (k + e) * STRIDE + c * MATES);
                    UNROLL
                    for (int v = 0; v < VECTOR; ++v) {
                        UNROLL
                        for (int r = 0; r < S::HEIGHT; ++r)
                            o.value[r][c + v] = fma_(x[r][e], y[v], o.value[r][c + v]);
                    }
                }
            }
        }
        __syncwarp(); /* the next scores overwrite these */
    }
};

#endif
