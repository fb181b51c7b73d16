/*
 * One block of memory as a stack, aligned to 256 bytes. Going back to a mark gives back all memory
 * taken since, so that tensors that live at different times share memory.
 *
 * An arena without memory measures: it gives NULL and counts. The workspace of a call is measured
 * by the code that takes it afterwards, so the plan is exact.
 */
#ifndef ASSAY_TRANSFORMER_ARENA_H
#define ASSAY_TRANSFORMER_ARENA_H

#include "device/kernel.h"

enum { ARENA_ALIGNMENT = 256 };

typedef struct arena {
    unsigned char *memory; /* NULL: measures, if bytes is SIZE_MAX */
    size_t bytes;
    size_t used, most; /* most: the largest `used` there was */
} arena;

static inline size_t arena_round(size_t bytes) {
    return (bytes + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
}

/* NULL when it measures, and when it is exhausted. */
static inline void *arena_take(arena *a, size_t bytes) {
    const size_t at = a->used;
    a->used += arena_round(bytes);
    if (a->used > a->most)
        a->most = a->used;
    return a->memory != NULL && a->used <= a->bytes ? a->memory + at : NULL;
}

static inline bool arena_exhausted(const arena *a) {
    return a->most > a->bytes;
}

#endif
