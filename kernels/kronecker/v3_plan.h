/*
 * The plan of kronecker v3, made on the host from shapes alone: which stages share a pass over
 * memory, and how a pass cuts the state into tiles that fit in shared memory.
 *
 * A pass covers consecutive modes, or all modes of one or more layers. It sees the state as
 * (rows, left, extents of its modes, right). A tile holds all extents for `units` consecutive
 * (row, left) places and `columns` consecutive places of right; only a tile that has all of right
 * has more than one unit. A mode that fits in no tile makes a `large` pass of its own.
 */
#ifndef ASSAY_KRONECKER_V3_PLAN_H
#define ASSAY_KRONECKER_V3_PLAN_H

#include "kernels/kronecker/stages.h"

enum {
    THREADS = 256,
    WANTED_COLUMNS = 16,      /* so that a tile is read in runs of at least 64 bytes */
    WANTED_BYTES = 96 * 1024, /* of a tile: two blocks on one multiprocessor */
    WANTED_BLOCKS = 264,      /* tiles that fill a GPU; blocks that leave partial gradients */
    BLOCK_EDGE = 4,           /* a thread computes this many by this many elements at a time */
};

/* A stage in the coordinates of one unit and column of a tile. */
struct tile_stage {
    int left, p, q, right;
};

struct pass {
    int32_t first, count; /* its stages in the chain */
    bool large;
    int64_t rows, left, right;
    tile_stage stages[MAX_STAGES];
};

/* Shared memory of a tile, in elements: the states of even and of odd number (those before stage 0,
 * before stage 1, …) take turns in two buffers; backward has the inputs of all stages in front of
 * the two, which then hold cotangents; a slice of a factor comes last. */
struct tiling {
    int units, columns;
    int64_t chunks, groups; /* tiles along right; tiles along left, or along rows when left is 1 */
    int64_t tiles;
    int inputs, even, odd, slice;
};

static __host__ __device__ __forceinline__ int before(const tile_stage &s) {
    return s.left * s.p * s.right;
}
static __host__ __device__ __forceinline__ int behind(const tile_stage &s) {
    return s.left * s.q * s.right;
}

static inline int64_t budget_for(size_t element) {
    return ASSAY_SHARED_BUDGET / (int64_t)element;
}

/* Buffers per unit and column. */
struct buffers {
    int64_t inputs, even, odd;
};

static inline int64_t total(const buffers &b) {
    return b.inputs + b.even + b.odd;
}

/* Those of stages first…first+count-1 in one pass; sizes beyond any shared memory are cut there, so
 * that sums stay small. */
static inline buffers buffers_of(const chain &c, int32_t first, int32_t count,
                                 assay_stage direction) {
    const int64_t left = c.stages[first + count - 1].left, right = c.stages[first].right;
    buffers b = {0, 0, 0};
    for (int32_t i = 0; i <= count; ++i) {
        const stage &s = c.stages[first + (i < count ? i : i - 1)];
        const int64_t elements = (i < count ? size_before(s) : size_behind(s)) / left / right;
        const int64_t size = elements < ASSAY_SHARED_BUDGET ? elements : ASSAY_SHARED_BUDGET;
        int64_t &buffer = i % 2 == 0 ? b.even : b.odd;
        buffer = larger(buffer, size);
        if (direction == ASSAY_BACKWARD && i < count)
            b.inputs += size;
    }
    return b;
}

static inline bool fits(const chain &c, int32_t first, int32_t count, assay_stage direction,
                        size_t element) {
    const int64_t columns = clamp(c.stages[first].right, 1, WANTED_COLUMNS);
    return total(buffers_of(c, first, count, direction)) * columns <= budget_for(element);
}

/* How many stages the pass that begins with stage `first` takes: as many modes of the layer as
 * fit and, if that is all of them, as many layers. */
static inline int32_t longest(const chain &c, int32_t first, assay_stage direction,
                              size_t element) {
    const int32_t layer_left = c.modes - first % c.modes;
    int32_t count = 1;
    while (count < layer_left && fits(c, first, count + 1, direction, element))
        ++count;
    if (count == c.modes)
        while (first + count < c.count && fits(c, first, count + c.modes, direction, element))
            count += c.modes;
    return count;
}

/* Whose passes a plan has: v3_tile.h, v3_eights.h, or v3_octets.h and v3_squares.h. */
enum plan_kind { PLAN_TILES, PLAN_EIGHTS, PLAN_SQUARES };

/* Pass i takes the stages first[i] … first[i + 1] - 1. */
struct plan {
    int32_t count;
    int32_t first[MAX_STAGES + 1];
    int64_t width; /* of the widest state between two passes */
    plan_kind kind;
};

static inline plan plan_tiles(const chain &c, assay_stage direction, size_t element) {
    plan made = {};
    for (int32_t first = 0; first < c.count; first = made.first[made.count]) {
        if (first > 0)
            made.width = larger(made.width, size_behind(c.stages[first - 1]));
        made.first[++made.count] = first + longest(c, first, direction, element);
    }
    return made;
}

static inline pass pass_of(const chain &c, const plan &made, int32_t index, assay_stage direction,
                           size_t element) {
    const int32_t first = made.first[index], count = made.first[index + 1] - first;
    pass p = {};
    p.first = first;
    p.count = count;
    p.rows = c.rows;
    p.left = c.stages[first + count - 1].left;
    p.right = c.stages[first].right;
    p.large = made.kind == PLAN_TILES &&
              total(buffers_of(c, first, count, direction)) > budget_for(element);
    for (int32_t i = 0; i < count && !p.large; ++i) {
        const stage &s = c.stages[first + i];
        p.stages[i] = {(int)(s.left / p.left), (int)s.p, (int)s.q, (int)(s.right / p.right)};
    }
    return p;
}

/* Cuts a pass that is not large; `direction` says which kernel runs it. */
static inline tiling tiling_of(const chain &c, const pass &p, assay_stage direction,
                               size_t element) {
    const buffers b = buffers_of(c, p.first, p.count, direction);
    const int64_t budget = budget_for(element), each = total(b);
    const int64_t wanted = WANTED_BYTES / (int64_t)element / each;
    const int64_t most = clamp(budget / each, 1, p.right);
    const int64_t columns = clamp(wanted, clamp(WANTED_COLUMNS, 1, most), most);
    int64_t units = 1;
    if (columns == p.right) {
        const int64_t there = p.left > 1 ? p.left : ceil_div(p.rows, WANTED_BLOCKS);
        units = clamp(wanted / columns, 1, larger(there, 1));
    }
    int64_t factor = 0;
    for (int32_t i = 0; i < p.count; ++i)
        factor = larger(factor, (int64_t)p.stages[i].p * p.stages[i].q);

    const int64_t places = units * columns;
    tiling t = {};
    t.units = (int)units;
    t.columns = (int)columns;
    t.chunks = ceil_div(p.right, columns);
    t.groups = ceil_div(p.left > 1 ? p.left : p.rows, units);
    t.tiles = t.chunks * t.groups * (p.left > 1 ? p.rows : 1);
    t.inputs = (int)(b.inputs * places);
    t.even = (int)(b.even * places);
    t.odd = (int)(b.odd * places);
    t.slice = (int)clamp(factor, 0, budget - each * places);
    return t;
}

static inline size_t shared_bytes(const tiling &t, size_t element) {
    return (size_t)(t.inputs + t.even + t.odd + t.slice) * element;
}

/* Blocks of the backward kernel, each with partial gradients of its own. */
static inline int64_t gradient_blocks(const tiling &t) {
    return clamp(t.tiles, 0, WANTED_BLOCKS);
}

/* A thread sums a 4 x 4 block of dW over every `splits`-th place of the tile: enough splits to give
 * all threads work. */
static __host__ __device__ __forceinline__ int gradient_splits(const tile_stage &s,
                                                               const tiling &t) {
    const int blocks = (s.p + BLOCK_EDGE - 1) / BLOCK_EDGE * ((s.q + BLOCK_EDGE - 1) / BLOCK_EDGE);
    const int places = s.left * s.right * t.units * t.columns;
    const int wanted = blocks < THREADS ? THREADS / blocks : 1;
    return wanted < places ? wanted : places;
}

#endif
