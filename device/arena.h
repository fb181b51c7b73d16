/*
 * Memory of one thread for what a run takes and gives back: one piece, of which each request gets
 * the next bytes, and all of it anew once everything has been given back, as it has between runs.
 * CUDA's own pool locks the context for each request, and sixteen threads wait for each other.
 */
#ifndef ASSAY_DEVICE_ARENA_H
#define ASSAY_DEVICE_ARENA_H

#include "device/kernel.h"

enum { ARENA_ALIGNMENT = 256 };
static const size_t arena_bytes = (size_t)1 << 26;

struct arena {
    unsigned char *memory; /* nullptr: none, or none to be had */
    size_t used;
    int64_t out; /* pieces that are in use */
};

static inline void arena_open(arena *a) {
    if (cudaMalloc(&a->memory, arena_bytes) != cudaSuccess) {
        a->memory = nullptr;
        (void)cudaGetLastError(); /* then each piece is the pool's */
    }
}

/* nullptr: there is no room. */
static inline void *arena_take(arena *a, size_t bytes) {
    if (a->memory == nullptr || bytes > arena_bytes - a->used)
        return nullptr;
    void *const taken = a->memory + a->used;
    const size_t end = (a->used + bytes + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
    a->used = end < arena_bytes ? end : arena_bytes;
    ++a->out;
    return taken;
}

/* Whether it is the arena's. What was queued for it has been waited for. */
static inline bool arena_give_back(arena *a, const void *memory) {
    const auto *const at = static_cast<const unsigned char *>(memory);
    if (a->memory == nullptr || at < a->memory || at >= a->memory + arena_bytes)
        return false;
    if (--a->out == 0)
        a->used = 0;
    return true;
}

#endif
