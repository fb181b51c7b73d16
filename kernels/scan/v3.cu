/*
 * scan v3, in two passes where lines are few: each line is cut into chunks; the first pass sums
 * each chunk, the second scans it, beginning with the sum of those before, in one order. Where
 * lines are enough for the device, a chunk is a line and there is one pass.
 *
 * Along the last axis a block takes a chunk, a tile after the other: a thread scans 16 bytes in
 * registers, lanes scan the threads' sums by shuffles, the block those of the warps. From the other
 * end, thread 0 has the last piece. Along another axis a thread takes a chunk of a line, and a warp
 * reads 32 lines that lie beside each other.
 *
 * Against v1: rows are read in whole sectors, and one line is shared by many blocks. Bytes: one
 * pass reads and writes every element once; two passes read it twice. Flops: about 2 an element
 * along the last axis, 1 along others, 1 more in two passes.
 */
#include "kernels/common/row_group.h"
#include "kernels/scan/lines.h"

enum { THREADS = GROUP_THREADS, WARP = GROUP_WARP, LEAST_CHUNK = 64, MOST_CHUNKS = 256 };

template <typename T> constexpr int64_t TILE = (int64_t)THREADS *pack<T>::size;

/* Chunks of a line, `length` elements each; the last one may be shorter. */
struct chunks {
    int64_t count, length;
    bool packs; /* all tensors allow 16-byte accesses; along the last axis only */

    __device__ __forceinline__ int64_t end(const lines &s, int64_t chunk) const {
        const int64_t after = (chunk + 1) * length;
        return after < s.length ? after : s.length;
    }
};

/* ---- along the last axis ---- */

/* A thread's piece of the tile at `first`, in the order of the scan: place v is element
 * first + (thread · size) + v from the end where it begins. */
template <typename T> struct piece { acc_t<T> v[pack<T>::size]; };

/* A row of a tensor from the scan's end: a pack lies at the mirrored place, its elements reversed.
 */
template <typename T>
static __device__ __forceinline__ piece<T> load_piece(const T *row, const lines &s, int64_t k,
                                                      int64_t end, bool packs) {
    enum { SIZE = pack<T>::size };
    piece<T> p;
    const bool whole = k + SIZE <= end;
    const int64_t place = s.backwards ? s.length - k - SIZE : k;
    if (whole && packs && place % SIZE == 0) {
        const pack<T> held = load_pack(row + place, SIZE, true);
#pragma unroll
        for (int v = 0; v < SIZE; ++v)
            p.v[v] = widen(held.v[s.backwards ? SIZE - 1 - v : v]);
        return p;
    }
#pragma unroll
    for (int v = 0; v < SIZE; ++v)
        p.v[v] = k + v < end ? widen(row[s.backwards ? s.length - 1 - k - v : k + v]) : 0;
    return p;
}

template <typename T>
static __device__ __forceinline__ void store_piece(T *row, const lines &s, int64_t k, int64_t end,
                                                   bool packs, const piece<T> &p) {
    enum { SIZE = pack<T>::size };
    const int64_t place = s.backwards ? s.length - k - SIZE : k;
    if (k + SIZE <= end && packs && place % SIZE == 0) {
        pack<T> held;
#pragma unroll
        for (int v = 0; v < SIZE; ++v)
            held.v[s.backwards ? SIZE - 1 - v : v] = narrow<T>(p.v[v]);
        store_pack(row + place, held, SIZE, true);
        return;
    }
#pragma unroll
    for (int v = 0; v < SIZE; ++v)
        if (k + v < end)
            row[s.backwards ? s.length - 1 - k - v : k + v] = narrow<T>(p.v[v]);
}

/* The sum of the values of all threads before this one, and *total of all. Every thread of the
 * block must come here. */
template <typename A> static __device__ __forceinline__ A sum_before(A value, A *total) {
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    A upto = value;
    for (int offset = 1; offset < WARP; offset *= 2) {
        const A below = __shfl_up_sync(0xffffffffu, upto, offset);
        upto = lane >= offset ? below + upto : upto;
    }
    A *warps = group_room(A());
    if (lane == WARP - 1)
        warps[warp] = upto;
    __syncthreads();
    A before = 0, all = 0;
    for (int w = 0; w < GROUP_WARPS; ++w) {
        before = w == warp ? all : before;
        all += warps[w];
    }
    __syncthreads();
    *total = all;
    const A own = __shfl_up_sync(0xffffffffu, upto, 1);
    return lane == 0 ? before : before + own;
}

template <typename T> static __device__ __forceinline__ acc_t<T> sum_of(const piece<T> &p) {
    acc_t<T> sum = 0;
#pragma unroll
    for (int v = 0; v < pack<T>::size; ++v)
        sum += p.v[v];
    return sum;
}

/* sums[chunk, line] of all chunks but a line's last one. */
template <typename T>
static __global__ void sum_chunks(matrix<const T> from, acc_t<T> *sums, lines s, chunks cut) {
    for (int64_t b = blockIdx.x; b < s.count * (cut.count - 1); b += gridDim.x) {
        const int64_t line = b % s.count, chunk = b / s.count, end = cut.end(s, chunk);
        acc_t<T> sum = 0;
        for (int64_t first = chunk * cut.length; first < end; first += TILE<T>) {
            const int64_t k = first + (int64_t)threadIdx.x * pack<T>::size;
            sum += sum_of(load_piece(from.row(line), s, k, end, cut.packs));
        }
        sum = reduce_group<group_add>(sum, THREADS);
        if (threadIdx.x == 0)
            sums[chunk * s.count + line] = sum;
    }
}

template <typename T>
static __device__ __forceinline__ piece<T> scan_piece(const piece<T> &p, acc_t<T> sum,
                                                      bool exclusive) {
    piece<T> q;
#pragma unroll
    for (int v = 0; v < pack<T>::size; ++v) {
        const acc_t<T> before = sum;
        sum += p.v[v];
        q.v[v] = exclusive ? before : sum;
    }
    return q;
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    scan_rows(matrix<const T> from, matrix<T> to, const acc_t<T> *sums, lines s, chunks cut) {
    typedef acc_t<T> A;
    for (int64_t b = blockIdx.x; b < s.count * cut.count; b += gridDim.x) {
        const int64_t line = b % s.count, chunk = b / s.count, end = cut.end(s, chunk);
        A carry = 0;
        for (int64_t c = threadIdx.x; c < chunk; c += THREADS)
            carry += sums[c * s.count + line];
        if (cut.count > 1)
            carry = reduce_group<group_add>(carry, THREADS);
        for (int64_t first = chunk * cut.length; first < end; first += TILE<T>) {
            const int64_t k = first + (int64_t)threadIdx.x * pack<T>::size;
            const piece<T> p = load_piece(from.row(line), s, k, end, cut.packs);
            A total;
            const A before = sum_before(sum_of(p), &total);
            store_piece(to.row(line), s, k, end, cut.packs,
                        scan_piece(p, carry + before, s.exclusive));
            carry += total;
        }
    }
}

/* ---- along another axis ---- */

template <typename T>
static __global__ void sum_columns(matrix<const T> from, acc_t<T> *sums, lines s, chunks cut) {
    for (int64_t t = grid_thread(); t < s.count * (cut.count - 1); t += grid_threads()) {
        const int64_t line = t % s.count, chunk = t / s.count, end = cut.end(s, chunk);
        acc_t<T> sum = 0;
        for (int64_t k = chunk * cut.length; k < end; ++k)
            sum += widen(*s.at(from, line, k));
        sums[t] = sum;
    }
}

template <typename T>
static __global__ void scan_columns(matrix<const T> from, matrix<T> to, const acc_t<T> *sums,
                                    lines s, chunks cut) {
    for (int64_t t = grid_thread(); t < s.count * cut.count; t += grid_threads()) {
        const int64_t line = t % s.count, chunk = t / s.count, end = cut.end(s, chunk);
        acc_t<T> sum = 0;
        for (int64_t c = 0; c < chunk; ++c)
            sum += sums[c * s.count + line];
        for (int64_t k = chunk * cut.length; k < end; ++k) {
            const acc_t<T> before = sum;
            sum += widen(*s.at(from, line, k));
            *s.at(to, line, k) = narrow<T>(s.exclusive ? before : sum);
        }
    }
}

/* ---- launches ---- */

/* As many chunks as give every multiprocessor some blocks, of at least so many elements. */
static chunks cut_for(const lines &s, int64_t tile) {
    const int64_t wanted = 4 * (int64_t)ASSAY_MULTIPROCESSORS;
    const int64_t there = s.middle == 0 ? s.count : ceil_div(s.count, THREADS);
    const int64_t least = s.middle == 0 ? 2 * tile : (int64_t)LEAST_CHUNK;
    const int64_t most = clamp(ceil_div(s.length, least), 1, MOST_CHUNKS);
    const int64_t count = clamp(ceil_div(wanted, clamp(there, 1, wanted)), 1, most);
    const int64_t unit = s.middle == 0 ? tile : 1;
    const int64_t length = clamp(ceil_div(ceil_div(s.length, count), unit) * unit, 1, INT64_MAX);
    return {clamp(ceil_div(s.length, length), 1, count), length, false};
}

static int64_t tile_of(const assay_call *call) {
    return (int64_t)THREADS * (PACK_BYTES / (int64_t)assay_dtype_size(call->params->dtype));
}

template <typename T> static assay_status run(const assay_call *call, assay_stage stage) {
    const lines s = lines_of(call, stage);
    const assay_tensor *from = source_of(call, stage), *to = &call->out[0];
    chunks cut = cut_for(s, tile_of(call));
    const bool rows = s.middle == 0;
    acc_t<T> *sums = static_cast<acc_t<T> *>(call->workspace);
    const int64_t per_block = rows ? 1 : THREADS;
    const dim3 grid = linear_grid(s.count * cut.count, per_block);
    assay_status status = ASSAY_OK;
    cut.packs = takes_packs(from) && takes_packs(to);
    if (cut.count > 1)
        status = ASSAY_LAUNCH(call->stream, linear_grid(s.count * (cut.count - 1), per_block),
                              dim3(THREADS), 0, (rows ? sum_chunks<T> : sum_columns<T>),
                              matrix_of<const T>(from), sums, s, cut);
    if (status != ASSAY_OK)
        return status;
    return ASSAY_LAUNCH(call->stream, grid, dim3(THREADS), 0,
                        (rows ? scan_rows<T> : scan_columns<T>), matrix_of<const T>(from),
                        matrix_of<T>(to), sums, s, cut);
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    return run<T>(call, ASSAY_FORWARD);
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    return run<T>(call, ASSAY_BACKWARD);
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    const lines s = lines_of(call, stage);
    const size_t size = call->params->dtype == ASSAY_F64 ? sizeof(double) : sizeof(float);
    return (size_t)(s.count * (cut_for(s, tile_of(call)).count - 1)) * size;
}

static assay_status forward(const assay_call *call) {
    return ROWS_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return ROWS_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(scan, v3) = {
    .op = "scan",
    .name = "v3",
    .device = ASSAY_DEVICE_NAME,
    .summary = "blocks scan rows by shuffles, in two passes where lines are few",
    .supports = NULL,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
