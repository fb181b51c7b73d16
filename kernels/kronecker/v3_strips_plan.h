/* The plan of v3_strips.h, made on the host from shapes alone. */
#ifndef ASSAY_KRONECKER_V3_STRIPS_PLAN_H
#define ASSAY_KRONECKER_V3_STRIPS_PLAN_H

#include "kernels/kronecker/stages.h"

constexpr int STRIP = 32, STRIP_FEWEST = 64, STRIP_EXTENT = 128; /* lines; of an extent */
constexpr int STRIP_STEP = 4;                                    /* terms at once */
constexpr int STRIP_WAVES = 2; /* blocks for each multiprocessor */

static inline int64_t strip_blocks(const chain &c) {
    return c.rows * ceil_div(c.stages[1].p, STRIP);
}

static inline bool is_strip_extent(int64_t n) {
    return n >= STRIP_FEWEST && n <= STRIP_EXTENT && n % (2 * STRIP_STEP) == 0;
}

/* Whether backward of these shapes goes in strips. */
static inline bool takes_strips(const chain &c) {
    return c.modes == 2 && c.layers == 1 && c.rows > 0 && is_strip_extent(c.stages[0].p) &&
           is_strip_extent(c.stages[0].q) && is_strip_extent(c.stages[1].p) &&
           is_strip_extent(c.stages[1].q) && strip_blocks(c) <= STRIP_WAVES * ASSAY_MULTIPROCESSORS;
}

/* Elements of the workspace. */
static inline int64_t strip_elements(const chain &c) {
    const stage &last = c.stages[0], &first = c.stages[1];
    return c.rows * first.p * first.q + strip_blocks(c) * last.p * last.q;
}

#endif
