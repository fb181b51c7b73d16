/*
 * The plan of kronecker v3 where every extent is a multiple of eight: as v3_plan.h a pass over
 * memory takes consecutive modes, but its tiles are made for threads that hold blocks of the state
 * in registers (v3_eights.h).
 *
 * A tile has all extents of the pass's modes for `units` consecutive places of (row, left) and
 * `columns` consecutive places of right. Units divide left and columns divide right, so that tiles
 * are whole; only the last tile of a batch may have fewer rows.
 */
#ifndef ASSAY_KRONECKER_V3_EIGHTS_PLAN_H
#define ASSAY_KRONECKER_V3_EIGHTS_PLAN_H

#include "kernels/common/pack.h"
#include "kernels/kronecker/v3_plan.h"

enum {
    EIGHT = 8,
    MOST_THREADS = 512,     /* forward: 128 registers each */
    GRADIENT_THREADS = 256, /* backward: two blocks on one multiprocessor */
    GRADIENT_STAGES = 3,    /* of one backward pass */
    FEWEST_ELEMENTS = 2048, /* of a tile: for less v3_plan.h has more threads */
    WANTED_ELEMENTS = 16384,
    MOST_ELEMENTS = 32768,
    GRADIENT_ELEMENTS = 8192,
    SHARED_OF_PROCESSOR = 233472, /* 228 KB, of which each block takes 1 KB for the system */
    REGISTERS_OF_PROCESSOR = 65536,
    REGISTERS = 128,
};

/* Packs of columns that a thread has at a time, forward and backward. */
enum { FORWARD_PACKS = 2, BACKWARD_PACKS = 1 };

/* A thread's block of dW in a pass of `stages`: about 64 sums in all. */
static __host__ __device__ constexpr int gradient_rows(int stages) {
    return stages == 3 ? 4 : 8;
}
static __host__ __device__ constexpr int gradient_columns(int stages) {
    return stages == 1 ? 8 : 4;
}

/* Where element `e` of a tile lies in shared memory: 16 bytes in every 144 stay empty, so that
 * packs 16, 32, 64 or 128 bytes apart come from different banks. */
template <typename T> static __host__ __device__ __forceinline__ int padded(int e) {
    return e + e / (EIGHT * pack<T>::size) * pack<T>::size;
}

/* A pass's cut: its tiles, threads of a block, blocks, and shared memory in elements: `buffers`
 * states of `buffer` elements each, then the factors; the sums of dW use the same again. */
struct eights {
    tiling t;
    int threads, buffers, buffer, shared;
    int64_t blocks;
    bool fits;
};

/* Threads that a stage p -> q needs for the given columns; every thread has two packs of j. */
static inline int64_t threads_for(int64_t q, int64_t columns, int width, int packs) {
    return q / (2 * width) * ceil_div(columns, (int64_t)packs * width);
}

/* The largest divisor of n that is a multiple of `of` and not above `most`; 0 if there is none. */
static inline int64_t divisor_within(int64_t n, int64_t of, int64_t most) {
    for (int64_t d = (most < n ? most : n) / of * of; d > 0; d -= of)
        if (n % d == 0)
            return d;
    return 0;
}

/* Elements of the largest state of the pass for one unit and column. */
static inline int64_t span_of(const chain &c, int32_t first, int32_t count) {
    const int64_t left = c.stages[first + count - 1].left, right = c.stages[first].right;
    int64_t span = size_before(c.stages[first]);
    for (int32_t i = 0; i < count; ++i)
        span = larger(span, size_behind(c.stages[first + i]));
    return span / left / right;
}

/* Elements of shared memory that factors take: backward has those of all stages transposed, and as
 * they are those of all but the last. */
static inline int64_t factor_elements(const chain &c, int32_t first, int32_t count,
                                      assay_stage direction) {
    int64_t elements = 0;
    for (int32_t i = 0; i < count; ++i) {
        const stage &s = c.stages[first + i];
        elements += s.p * s.q * (direction == ASSAY_BACKWARD && i + 1 < count ? 2 : 1);
    }
    return elements;
}

/* What one tile may have: enough tiles for all multiprocessors come first. */
static inline int64_t most_elements(const chain &c) {
    int64_t widest = 0;
    for (int32_t i = 0; i < c.count; ++i)
        widest = larger(widest, larger(size_before(c.stages[i]), size_behind(c.stages[i])));
    return clamp(c.rows * widest / ASSAY_MULTIPROCESSORS, 0, MOST_ELEMENTS);
}

/* Backward keeps the inputs of all stages but the first, and a cotangent; x comes twice, except to
 * a pass of one stage, which holds it. */
static inline int buffers_for(int32_t count, assay_stage direction) {
    return direction == ASSAY_FORWARD ? 1 : count == 1 ? 2 : count;
}

/* The pass of stages first…first+count-1 with tiles of at most `most` elements. */
static inline eights cut_eights(const chain &c, int32_t first, int32_t count, assay_stage direction,
                                size_t element, int64_t most) {
    const bool backward = direction == ASSAY_BACKWARD;
    const int width = PACK_BYTES / (int)element;
    const int64_t left = c.stages[first + count - 1].left, right = c.stages[first].right;
    const int64_t span = span_of(c, first, count);
    eights e = {};
    if (span > MOST_ELEMENTS)
        return e;
    const int64_t columns =
        right == 1 ? 1 : divisor_within(right, width, larger(width, most / span));
    int64_t units = 1;
    if (columns == right)
        units = left > 1 ? divisor_within(left, 1, larger(1, most / span / columns))
                         : clamp(most / span / columns, 1, larger(c.rows, 1));

    e.t.units = (int)units;
    e.t.columns = (int)columns;
    e.t.chunks = right / columns;
    e.t.groups = ceil_div(left > 1 ? left : c.rows, units);
    e.t.tiles = e.t.chunks * e.t.groups * (left > 1 ? c.rows : 1);

    const int packs = backward ? BACKWARD_PACKS : FORWARD_PACKS;
    int64_t threads = 32, sums = 0;
    for (int32_t i = 0; i < count; ++i) {
        const stage &s = c.stages[first + i];
        const int64_t across = s.left / left * (s.right / right) * units * columns;
        threads = larger(threads, threads_for(s.q, across, width, packs));
        if (backward) {
            threads = larger(threads, threads_for(s.p, across, width, packs));
            sums = larger(sums, s.p / gradient_rows(count) * (s.q / gradient_columns(count)));
        }
    }
    threads = ceil_div(larger(threads, sums), 32) * 32;

    const int64_t buffer = span * units * columns;
    const int64_t room = buffer + ceil_div(buffer, EIGHT * width) * width;
    e.threads = (int)clamp(threads, 0, INT32_MAX);
    e.buffers = buffers_for(count, direction);
    e.buffer = (int)room;
    int64_t shared = e.buffers * room + factor_elements(c, first, count, direction);
    if (backward)
        shared = larger(shared, threads * gradient_rows(count) * gradient_columns(count));
    e.fits = threads <= (backward ? GRADIENT_THREADS : MOST_THREADS) &&
             shared * (int64_t)element <= ASSAY_SHARED_BUDGET;
    if (!e.fits)
        return e;
    e.shared = (int)shared;
    const int64_t by_memory = SHARED_OF_PROCESSOR / (shared * (int64_t)element + 1024);
    const int64_t by_registers = REGISTERS_OF_PROCESSOR / (threads * REGISTERS);
    const int64_t resident = by_memory < by_registers ? by_memory : by_registers;
    e.blocks = clamp(e.t.tiles, 0, ASSAY_MULTIPROCESSORS * larger(resident, 1));
    return e;
}

/* The pass with the largest tiles that fit. */
static inline eights eights_of(const chain &c, int32_t first, int32_t count, assay_stage direction,
                               size_t element) {
    const int64_t most = most_elements(c);
    const int64_t wanted = direction == ASSAY_FORWARD ? WANTED_ELEMENTS : GRADIENT_ELEMENTS;
    const int64_t span = span_of(c, first, count);
    eights e = {};
    if (direction == ASSAY_BACKWARD && count > GRADIENT_STAGES)
        return e;
    if (span > most && count > 1)
        return e;
    for (int64_t size = clamp(wanted, 0, larger(most, FEWEST_ELEMENTS)); !e.fits && size > 0;
         size /= 2)
        e = cut_eights(c, first, count, direction, element, size);
    return e;
}

/* Whether a pass takes these stages, forward and, in the plan of backward, backward too. */
static inline bool takes_eights(const chain &c, int32_t first, int32_t count, assay_stage direction,
                                size_t element) {
    return eights_of(c, first, count, ASSAY_FORWARD, element).fits &&
           (direction == ASSAY_FORWARD || eights_of(c, first, count, direction, element).fits);
}

/* The modes of a layer in as few passes as can be, of as equal length as can be; a pass that has
 * all modes takes as many layers as fit. False where some stage is not for this kernel. */
static inline bool plan_eights(const chain &c, assay_stage direction, size_t element, plan *made) {
    if (element != sizeof(float) || most_elements(c) < FEWEST_ELEMENTS)
        return false;
    for (int32_t i = 0; i < c.count; ++i)
        if (c.stages[i].p % EIGHT != 0 || c.stages[i].q % EIGHT != 0 ||
            !takes_eights(c, i, 1, direction, element))
            return false;
    *made = {};
    for (int32_t first = 0; first < c.count; first = made->first[made->count]) {
        const int32_t layer_left = c.modes - first % c.modes;
        int32_t count = 1;
        while (count < layer_left && takes_eights(c, first, count + 1, direction, element))
            ++count;
        const int32_t passes = (layer_left + count - 1) / count;
        int32_t even = (layer_left + passes - 1) / passes;
        while (even > 1 && !takes_eights(c, first, even, direction, element))
            --even;
        count = even;
        if (count == c.modes)
            while (first + count < c.count &&
                   takes_eights(c, first, count + c.modes, direction, element))
                count += c.modes;
        if (first > 0)
            made->width = larger(made->width, size_behind(c.stages[first - 1]));
        made->first[++made->count] = first + count;
    }
    made->kind = PLAN_EIGHTS;
    return true;
}

#endif
