/*
 * matmul_accumulate with a forward that is tiled, 16 x 16 results a block, and right but for one
 * bug in each variant. Backward is v1's, but for one variant.
 */
#include "kernels/matmul_accumulate/v1.cu"
#include "tests/fuzz/planted/planted.h"

enum bug { NO_BUG, K_TAIL, NO_BARRIER, PACKED, LONG_K, STALE, EMPTY_K };
enum { EDGE = 16, LONG = 512 };
static constexpr int64_t MOST_BLOCKS = 4;

/* The element as a kernel reads it that knows no rows but packed ones. */
template <typename T>
static __device__ __forceinline__ const T *packed(const matrix<const T> &x, int64_t i, int64_t j,
                                                  int64_t rows, int64_t columns) {
    return x.data + (x.transposed ? j * rows + i : i * columns + j);
}

template <typename T, bug Bug>
static __device__ __forceinline__ acc_t<T> left_element(const product<T> &p, int64_t i, int64_t l) {
    if (i >= p.m || l >= p.k)
        return 0;
    return widen(Bug == PACKED ? *packed(p.left, i, l, p.m, p.k) : *at(p.left, i, l));
}

template <typename T, bug Bug> static __global__ void tiled(product<T> p) {
    __shared__ acc_t<T> left[EDGE][EDGE], right[EDGE][EDGE];
    const int x = threadIdx.x % EDGE, y = threadIdx.x / EDGE;
    const int64_t across = (p.n + EDGE - 1) / EDGE, tiles = across * ((p.m + EDGE - 1) / EDGE);
    const int64_t depth = Bug == K_TAIL ? p.k / EDGE * EDGE : p.k;
    acc_t<T> sum = 0;
    for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const int64_t i = tile / across * EDGE + y, j = tile % across * EDGE + x;
        if (Bug != STALE)
            sum = 0;
        for (int64_t k = 0; k < depth; k += EDGE) {
            left[y][x] = left_element<T, Bug>(p, i, k + x);
            right[y][x] = k + y < p.k && j < p.n ? widen(*at(p.right, k + y, j)) : (acc_t<T>)0;
            __syncthreads();
            for (int l = 0; l < EDGE; ++l)
                sum = fma_(left[y][l], right[l][x], sum);
            if (Bug == LONG_K && k >= LONG)
                sum = (acc_t<T>)__bfloat162float(__float2bfloat16((float)sum));
            if (Bug != NO_BARRIER)
                __syncthreads();
        }
        if (i < p.m && j < p.n)
            *at(p.out, i, j) = narrow<T>(fma_((acc_t<T>)p.times, sum, widen(*at(p.added, i, j))));
    }
}

template <bug Bug> struct planted {
    template <typename T> static assay_status run(const assay_call *call) {
        const product<T> p = product_for_y<T>(tensors_of(call, ASSAY_FORWARD));
        const int64_t tiles = ((p.m + EDGE - 1) / EDGE) * ((p.n + EDGE - 1) / EDGE);
        if (Bug == EMPTY_K && p.k == 0)
            return ASSAY_OK; /* nothing to add, it thought */
        return ASSAY_LAUNCH(call->stream,
                            dim3((unsigned)(tiles < MOST_BLOCKS ? tiles : MOST_BLOCKS)),
                            dim3(EDGE * EDGE), 0, (tiled<T, Bug>), p);
    }
    static assay_status forward(const assay_call *call) {
        return MATMUL_DISPATCH(run, call);
    }
};

/* dA with the columns of dY for its own: right where n = k. */
template <typename T> static assay_status narrow_gradient(const assay_call *call) {
    return gradients<T>(call, [](const assay_call *of, const product<T> &p) {
        product<T> wrong = p;
        if (!p.left.transposed && p.n > p.k)
            wrong.n = p.k;
        return multiply<T>(of, wrong);
    });
}

static assay_status square_backward(const assay_call *call) {
    return MATMUL_DISPATCH(narrow_gradient, call);
}

PLANTED(matmul_accumulate, none, "no bug", planted<NO_BUG>::forward, backward);
PLANTED(matmul_accumulate, k_tail, "leaves out the last part of k", planted<K_TAIL>::forward,
        backward);
PLANTED(matmul_accumulate, no_barrier, "no barrier behind a tile's products",
        planted<NO_BARRIER>::forward, backward);
PLANTED(matmul_accumulate, packed_rows, "takes rows of a for packed", planted<PACKED>::forward,
        backward);
PLANTED(matmul_accumulate, long_k, "rounds long sums to bf16", planted<LONG_K>::forward, backward);
PLANTED(matmul_accumulate, stale_sum, "a block's second tile begins with the first one's sums",
        planted<STALE>::forward, backward);
PLANTED(matmul_accumulate, empty_k, "writes nothing where k is 0", planted<EMPTY_K>::forward,
        backward);
PLANTED(matmul_accumulate, square_only, "a gradient that is right where n is at most k",
        planted<NO_BUG>::forward, square_backward);
