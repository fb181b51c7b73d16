/*
 * Backward of embedding v3 where tokens are few, in one launch: each block finds the tokens of its
 * rows, starts to copy their dy to shared memory, writes zeros to the rows that have no token, and
 * then adds the copies.
 *
 * A load that begins behind a stream of stores waits for these, some 2.5 us; so all loads begin
 * before it. Zeros of the first rows are written while ids come; those that have a token are
 * written again. A block has every so many-th row, because frequent tokens, as those of letters,
 * often have ids side by side, and so that rows that are written at a time lie side by side; of few
 * rows it has a strip of columns. Its tokens are a list in ascending order; those of a row are
 * those of the list that have its number. dy of a row of many tokens comes to the L2 cache
 * meanwhile, and is added in the end as in v3.cu.
 *
 * H100, cold, by the way of v3_order.h and by this one, in one run, other blocks and strips than
 * now where it says so: t = 4096, v = 50304, d = 768, f32, 71.3 and 64.3 us, where a copy of the
 * bytes takes 60.3 (62.0 with one block a multiprocessor); bf16 41.3 and 35.3; d = 2560, bf16,
 * 110.5 and 100.2; v = 10000, d = 768, bf16 and f32, 20.7 and 15.9, 31.4 and 21.4; d = 2560,
 * bf16, 46.0 and 32.0; v = 40 36.5 and 13.2; t = 8192, v = 50304, d = 768, f32, 82.4 and 69.7; v =
 * 128256, d = 4096, t = 2048, bf16, 359 and 370. Where a few rows have many tokens, their blocks
 * end late: ids of v = 50304 by Zipf's law, f32, 77.0 and 81.4, bf16 53.5 and 48.2, d = 2560, 119
 * and 128; with one block a multiprocessor 103, 69 and 160; with four 70, 39 and 112,
 * but 68.5, 37.5 and 106 where ids are uniform. t = 8192, f32, 93.5 and 107. All tokens of one id,
 * 122 and 152. Loads of copies behind branches and spilled registers, as when this took any shape,
 * were 68.6 for the first.
 */
#ifndef ASSAY_EMBEDDING_V3_FEW_H
#define ASSAY_EMBEDDING_V3_FEW_H

#include "kernels/common/stream.h"
#include "kernels/common/tensor.h"
#include "kernels/embedding/v3_order.h"

/* Threads of a block, ids that each looks at, and the most rows of a block. */
enum { FEW_THREADS = 1024, FEW_WARPS = FEW_THREADS / WARP, FEW_IDS = 8, FEW_ROWS = 512 };
static constexpr int64_t FEW_TOKENS = FEW_THREADS * FEW_IDS;

/* Row number k of a group is row k groups + group. `inverse` is 2^32 / groups. */
struct few_plan {
    uint32_t groups, inverse;
    int strips, strip_packs;
    int parts; /* in which a row of many tokens is added */
    int early; /* rows that are zeros before ids are known */
    int room;  /* tokens whose dy is copied */
};

struct few_room {
    int32_t count[FEW_ROWS];                 /* tokens of each row */
    int32_t few[FEW_WARPS], many[FEW_WARPS]; /* tokens of each warp's part of the ids */
    int32_t picked[FEW_WARPS][WARP];         /* places in the list */
};

/* Bytes of a block's shared memory, but for copies. */
static constexpr int64_t FEW_BYTES = sizeof(few_room) + FEW_TOKENS * sizeof(uint32_t);

/* The number of that id's row among the block's, or -1. */
static __device__ __forceinline__ int number_of(int32_t id, uint32_t group, const few_plan &p) {
    uint32_t k = __umulhi((uint32_t)id, p.inverse), rest = (uint32_t)id - k * p.groups;
    if (rest >= p.groups) { /* the inverse is cut */
        rest -= p.groups;
        ++k;
    }
    return id >= 0 && rest == group ? (int)k : -1;
}

/* How many tokens of the block's are of rows that have few, and of others. */
struct few_tokens {
    int few, many;
};

/* Each place of the list: number FEW_TOKENS + token; first tokens of rows that have few, then of
 * others, in ascending order. `meanwhile` is called while ids come. */
template <typename F>
static __device__ __forceinline__ few_tokens list_tokens(const int32_t *ids, int t, uint32_t group,
                                                         const few_plan &p, few_room &room,
                                                         uint32_t *list, F meanwhile) {
    const int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
    const int first = warp * WARP * FEW_IDS + lane;
    const unsigned lower = (1u << lane) - 1;
    int32_t id[FEW_IDS];
    int few = 0, many = 0;
    bool is_many = false;
#pragma unroll
    for (int b = 0; b < FEW_IDS; ++b)
        id[b] = first + b * WARP < t ? ids[first + b * WARP] : -1;
    meanwhile();
    __syncthreads(); /* behind the counts' zeros */
#pragma unroll
    for (int b = 0; b < FEW_IDS; ++b) {
        id[b] = number_of(id[b], group, p);
        if (id[b] >= 0)
            is_many = atomicAdd(&room.count[id[b]], 1) >= SHORT || is_many;
        few += __popc(__ballot_sync(ALL_LANES, id[b] >= 0));
    }
    if (lane == 0) {
        room.few[warp] = few;
        room.many[warp] = 0;
    }
    is_many = __syncthreads_or(is_many);
    const bool any = few > 0;
    if (is_many) {
#pragma unroll
        for (int b = 0; b < FEW_IDS; ++b) {
            const bool long_row = id[b] >= 0 && room.count[id[b]] > SHORT;
            many += __popc(__ballot_sync(ALL_LANES, long_row));
        }
        if (lane == 0) {
            room.few[warp] = few - many;
            room.many[warp] = many;
        }
        __syncthreads();
    }
    const unsigned fews = (unsigned)room.few[lane], manys = (unsigned)room.many[lane];
    const few_tokens n = {(int)__reduce_add_sync(ALL_LANES, fews),
                          (int)__reduce_add_sync(ALL_LANES, manys)};
    int at = (int)__reduce_add_sync(ALL_LANES, lane < warp ? fews : 0);
    int behind = n.few + (int)__reduce_add_sync(ALL_LANES, lane < warp ? manys : 0);
#pragma unroll
    for (int b = 0; any && b < FEW_IDS; ++b) {
        const bool long_row = is_many && id[b] >= 0 && room.count[id[b]] > SHORT;
        const unsigned of_few = __ballot_sync(ALL_LANES, id[b] >= 0 && !long_row);
        const unsigned of_many = __ballot_sync(ALL_LANES, long_row);
        if (id[b] >= 0)
            list[long_row ? behind + __popc(of_many & lower) : at + __popc(of_few & lower)] =
                (uint32_t)(id[b] * FEW_TOKENS + first + b * WARP);
        at += __popc(of_few);
        behind += __popc(of_many);
    }
    __syncthreads();
    return n;
}

/* Packs of 128 bytes, which the L2 cache has side by side. */
static constexpr int LINE_PACKS = 128 / PACK_BYTES;

/* Brings what lies there to the L2 cache; does not wait. */
static __device__ __forceinline__ void prefetch_line(const void *from) {
#if defined(__CUDA_ARCH__)
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
#else
    (void)from;
#endif
}

/* sum += the N packs that at(b) points to, in that order, whose loads begin at once. */
template <int N, typename T, typename At>
static __device__ __forceinline__ void add_packs(acc_t<T> (&sum)[pack<T>::size], At at) {
    pack<T> held[N];
#pragma unroll
    for (int b = 0; b < N; ++b)
        held[b] = load_kept(at(b));
    keep_packed(held);
#pragma unroll
    for (int b = 0; b < N; ++b) {
        acc_t<T> value[pack<T>::size];
        widen_pack(held[b], value);
        for (int v = 0; v < pack<T>::size; ++v)
            sum[v] += value[v];
    }
}

/* A block's tokens, and what it adds of them to where: a strip of columns of its rows. */
template <typename T> struct few_block {
    static constexpr int V = pack<T>::size;
    typedef acc_t<T> sums[V];

    few_room *room;
    uint32_t *list;
    pack<T> *copies;
    const T *from; /* dy of token 0 */
    T *to;         /* row number 0 */
    int64_t from_step, to_step;
    int packs, strip_packs;
    few_tokens tokens;
    int copied; /* tokens of the list whose dy is copied */

    __device__ __forceinline__ int number(int i) const {
        return (int)(list[i] / FEW_TOKENS);
    }
    __device__ __forceinline__ const T *row_of(int i) const {
        return from + list[i] % FEW_TOKENS * from_step;
    }
    __device__ __forceinline__ const pack<T> *given(int i, int j) const {
        return reinterpret_cast<const pack<T> *>(row_of(i) + j * V);
    }
    __device__ __forceinline__ void store(int k, int j, const pack<T> &value) const {
        store_part<true>(to + k * to_step + j * V, value, 1, true);
    }
    __device__ __forceinline__ void clear(int k) const {
        for (int j = (int)threadIdx.x % WARP; j < packs; j += WARP)
            store(k, j, pack_of(narrow<T>(0)));
    }
    __device__ __forceinline__ void start() const {
        const int lane = (int)threadIdx.x % WARP;
        for (int i = (int)threadIdx.x / WARP; i < tokens.few + tokens.many; i += FEW_WARPS) {
            const T *const row = row_of(i);
            if (i < copied)
                for (int j = lane; j < packs; j += WARP)
                    cp_async_16(copies + i * strip_packs + j, row + j * V);
            else
                for (int j = lane * LINE_PACKS; j < packs; j += WARP * LINE_PACKS)
                    prefetch_line(row + j * V);
        }
        cp_async_commit();
    }
    /* Row k, of few tokens, by a warp. */
    __device__ __forceinline__ void sum_row(int k, int32_t *picked) const {
        const int lane = (int)threadIdx.x % WARP, count = room->count[k];
        for (int i = lane, found = 0; found < count; i += WARP) {
            const bool hit = i < tokens.few && number(i) == k;
            const unsigned all = __ballot_sync(ALL_LANES, hit);
            if (hit)
                picked[found + __popc(all & ((1u << lane) - 1))] = i;
            found += __popc(all);
        }
        __syncwarp();
        for (int j = lane; j < packs; j += WARP) {
            sums sum = {};
            for (int b = 0; b < count; ++b) {
                const int i = picked[b];
                add_packs<1, T>(sum, [&](int) {
                    return i < copied ? copies + i * strip_packs + j : given(i, j);
                });
            }
            store(k, j, narrow_pack<T>(sum));
        }
        __syncwarp();
    }
    /* Of row k's tokens those from number `begin` to `end`: pack j of them, by a warp. */
    __device__ __forceinline__ void sum_part(int k, int begin, int end, int j, int32_t *picked,
                                             sums &sum) const {
        const int lane = (int)threadIdx.x % WARP, count = room->count[k];
        const unsigned lower = (1u << lane) - 1;
        for (int i = tokens.few + lane, seen = 0; seen < count && seen < end; i += WARP) {
            const bool hit = i < tokens.few + tokens.many && number(i) == k;
            const unsigned all = __ballot_sync(ALL_LANES, hit);
            const int place = seen + __popc(all & lower);
            const bool inside = hit && place >= begin && place < end;
            const unsigned in = __ballot_sync(ALL_LANES, inside);
            if (inside)
                picked[__popc(in & lower)] = i;
            __syncwarp();
            const int found = j < packs ? __popc(in) : 0;
            int b = 0;
            for (; b + 8 <= found; b += 8)
                add_packs<8, T>(sum, [&](int x) { return given(picked[b + x], j); });
            for (; b + 2 <= found; b += 2)
                add_packs<2, T>(sum, [&](int x) { return given(picked[b + x], j); });
            if (b < found)
                add_packs<1, T>(sum, [&](int) { return given(picked[b], j); });
            __syncwarp();
            seen += __popc(all);
        }
    }
    /* Row k, of many tokens: parts of them, by a warp for each 32 packs of a part; then the first
     * of these warps adds the parts, one behind the other. By all threads together. */
    __device__ __forceinline__ void sum_long_row(int k, int parts, sums *of_part,
                                                 int32_t *picked) const {
        const int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
        const int at_once = parts < FEW_WARPS ? parts : FEW_WARPS, beside = FEW_WARPS / at_once;
        const int part = warp % at_once, strip = warp / at_once;
        const int each = (int)ceil_div(room->count[k], parts);
        for (int c = 0; c < packs; c += beside * WARP) {
            const int j = strip < beside ? c + strip * WARP + lane : packs;
            sums total = {};
            for (int l = 0; l < parts; l += at_once) {
                const int begin = (l + part) * each;
                sums sum = {};
                sum_part(k, begin, strip < beside ? begin + each : 0, j, picked, sum);
                for (int v = 0; v < V; ++v)
                    of_part[threadIdx.x][v] = sum[v];
                __syncthreads();
                for (int other = 0; part == 0 && other < at_once; ++other)
                    for (int v = 0; v < V; ++v)
                        total[v] += of_part[threadIdx.x + other * WARP][v];
                __syncthreads();
            }
            if (part == 0 && j < packs)
                store(k, j, narrow_pack<T>(total));
        }
    }
};

template <typename T>
static __global__ void __launch_bounds__(FEW_THREADS, 1)
    sum_few(const int32_t *ids, rows<const T> dy, rows<T> dtable, sizes s, few_plan p) {
    typedef few_block<T> block;
    ASSAY_DYNAMIC_SHARED(pack<T>, shared);
    const int warp = (int)threadIdx.x / WARP;
    const uint32_t group = blockIdx.x / (uint32_t)p.strips;
    const int first = (int)(blockIdx.x % (uint32_t)p.strips) * p.strip_packs;
    const int mine = (int)((s.v - group + p.groups - 1) / p.groups);
    block b;
    b.room = reinterpret_cast<few_room *>(shared);
    b.list = reinterpret_cast<uint32_t *>(b.room + 1);
    b.copies = shared + FEW_BYTES / PACK_BYTES;
    b.from = dy.data + first * block::V;
    b.to = dtable.data + group * dtable.stride + first * block::V;
    b.from_step = dy.stride;
    b.to_step = p.groups * dtable.stride;
    b.packs = (int)clamp(s.d / block::V - first, 0, p.strip_packs);
    b.strip_packs = p.strip_packs;
    for (int k = (int)threadIdx.x; k < mine; k += FEW_THREADS)
        b.room->count[k] = 0;
    b.tokens = list_tokens(ids, (int)s.t, group, p, *b.room, b.list, [&] {
        for (int k = warp; k < p.early; k += FEW_WARPS)
            b.clear(k);
    });
    b.copied = b.tokens.few < p.room ? b.tokens.few : p.room;
    b.start();
    for (int k = warp; k < mine; k += FEW_WARPS)
        if (b.room->count[k] == 0 && k >= p.early)
            b.clear(k);
    cp_async_wait<0>();
    __syncthreads();
    int32_t *const picked = b.room->picked[warp];
    for (int k = warp; k < mine; k += FEW_WARPS)
        if (b.room->count[k] > 0 && b.room->count[k] <= SHORT)
            b.sum_row(k, picked);
    if (b.tokens.many == 0)
        return;
    __syncthreads(); /* before sums of parts take the places of copies */
    for (int k = 0; k < mine; ++k)
        if (b.room->count[k] > SHORT)
            b.sum_long_row(k, p.parts, reinterpret_cast<typename block::sums *>(b.copies), picked);
}

/* Zeros that a block writes while ids come; dy that it copies, so that most blocks have room for
 * all of theirs; bytes of rows of which there are two blocks for each multiprocessor, one behind
 * the other, so that a row of many tokens holds up less; and bytes of a row above which it is
 * strips. */
static constexpr int64_t EARLY_BYTES = 36 << 10, COPIED_BYTES = 160 << 10, LARGE_BYTES = 512 << 10,
                         STRIP_BYTES = 3 << 10;
/* Blocks for each multiprocessor; strips; rows of a block below which there are more strips. */
enum { MOST_WAVES = 4, MOST_STRIPS = 8, STRIP_ROWS = 128 };

template <typename T> static few_plan plan_few(const sizes &s, int parts) {
    few_plan p = {};
    const int64_t packs = s.d / pack<T>::size, bytes = s.d * (int64_t)sizeof(T);
    const int64_t each = ASSAY_MULTIPROCESSORS;
    int64_t waves = ceil_div(s.t * bytes, each * COPIED_BYTES);
    waves = clamp(waves, s.v * bytes >= each * LARGE_BYTES ? 2 : 1, MOST_WAVES);
    const int64_t blocks = waves * each;
    const int64_t narrow = ceil_div(bytes, STRIP_BYTES), wide = ceil_div(blocks * STRIP_ROWS, s.v);
    int64_t strips = clamp(narrow > wide ? narrow : wide, 1, MOST_STRIPS);
    strips = clamp(packs / WARP, 1, strips);
    p.strip_packs = (int)ceil_div(packs, strips);
    p.strips = (int)ceil_div(packs, p.strip_packs);
    const int64_t groups = clamp(blocks / p.strips, ceil_div(s.v, FEW_ROWS), s.v);
    p.groups = (uint32_t)groups;
    p.inverse = groups > 1 ? (uint32_t)((UINT64_C(1) << 32) / (uint64_t)groups) : UINT32_MAX;
    p.parts = parts;
    const int64_t strip_bytes = (int64_t)p.strip_packs * PACK_BYTES;
    p.early = (int)clamp(EARLY_BYTES / strip_bytes, 0, s.v / groups);
    p.room = (int)clamp((ASSAY_SHARED_BUDGET - FEW_BYTES) / strip_bytes, 0, FEW_TOKENS);
    return p;
}

template <typename T> static size_t few_bytes(const few_plan &p) {
    const int64_t copies = (int64_t)p.room * p.strip_packs * PACK_BYTES;
    const int64_t parts = FEW_THREADS * (int64_t)(pack<T>::size * sizeof(acc_t<T>));
    return (size_t)(FEW_BYTES + (copies > parts ? copies : parts));
}

template <typename T>
static assay_status launch_few(void *stream, const int32_t *ids, const sizes &s,
                               const rows<const T> &dy, const rows<T> &dtable, int parts) {
    const few_plan p = plan_few<T>(s, parts);
    return ASSAY_LAUNCH(stream, whole_grid((int64_t)p.groups * p.strips), dim3(FEW_THREADS),
                        few_bytes<T>(p), (sum_few<T>), ids, dy, dtable, s, p);
}

#endif
