#include "engine/guest/recycle.h"

#include <stdlib.h>

typedef struct block {
    void *memory;
    size_t bytes;
} block;

/* Blocks in the order in which a run asks for them; it has got those before `next`. */
static _Thread_local struct {
    const assay_device *base;
    assay_device device;
    block *blocks;
    size_t count, room, next;
} pool;

/* Those from `first` on: this run asks for others. */
static void drop(size_t first) {
    while (pool.count > first) {
        const block *b = &pool.blocks[--pool.count];
        pool.base->guard(b->memory, b->bytes, false);
        pool.base->release(b->memory);
    }
}

static assay_status append(size_t bytes) {
    if (pool.count == pool.room) {
        const size_t room = 2 * pool.room + 16;
        block *blocks = realloc(pool.blocks, room * sizeof *blocks);
        if (!blocks)
            return assay_fail(ASSAY_ERR_MEMORY, "out of memory for %zu blocks", room);
        pool.blocks = blocks;
        pool.room = room;
    }
    block *b = &pool.blocks[pool.count];
    *b = (block){.bytes = bytes};
    const assay_status status = pool.base->alloc(bytes, &b->memory);
    pool.count += status == ASSAY_OK;
    return status;
}

static assay_status allocate(size_t bytes, void **memory) {
    assay_status status = ASSAY_OK;
    *memory = NULL;
    if (pool.next < pool.count && pool.blocks[pool.next].bytes != bytes)
        drop(pool.next);
    if (pool.next == pool.count)
        status = append(bytes);
    if (status != ASSAY_OK)
        return status;
    const block *b = &pool.blocks[pool.next++];
    pool.base->guard(b->memory, b->bytes, false);
    *memory = b->memory;
    return ASSAY_OK;
}

/* It stays, and may not be used until the next run has it. */
static void keep(void *memory) {
    for (size_t i = 0; i < pool.count; ++i)
        if (memory && pool.blocks[i].memory == memory)
            pool.base->guard(memory, pool.blocks[i].bytes, true);
}

const assay_device *recycle_begin(const assay_device *device) {
    pool.base = device;
    pool.device = *device;
    pool.device.alloc = allocate;
    pool.device.release = keep;
    pool.next = 0;
    return &pool.device;
}

void recycle_rewind(void) {
    pool.next = 0;
}

void recycle_end(void) {
    drop(0);
    free(pool.blocks);
    pool.blocks = NULL;
    pool.room = pool.next = 0;
}
