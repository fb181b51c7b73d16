/*
 * Bulk copies between global and shared memory, plain and of tensors (TMA). Each is done where it
 * is issued, as early as the GPU may do it; an mbarrier then hears of its bytes.
 */
#include "sim/ptx/internal.h"

#include "sim/block.h"
#include "sim/ptx/tensor_map.h"

#include <string.h>

enum { CHUNK = 16, TENSOR_ALIGNMENT = 128 };

SIM_REPORT static void report(const char *what, const ptx_site *site) {
    char where[SIM_POSITION];
    sim_defect("wrong bulk copy", site->file, site->line, "%s: %s",
               sim_block_thread_text(sim_now.block, sim_now.thread, where), what);
    sim_abandon();
}

/* Where it begins in shared memory, as kernels count. */
static size_t check_shared(const ptx_context *x, const char *shared, size_t bytes, size_t alignment,
                           const ptx_site *site) {
    const size_t at = (size_t)(shared - *x->shared);
    if (at % alignment != 0)
        report(alignment == CHUNK ? "an address in shared memory that is no multiple of 16"
                                  : "an address in shared memory that is no multiple of 128",
               site);
    if (at > x->shared_bytes || bytes > x->shared_bytes - at)
        report("it leaves the block's shared memory", site);
    return at;
}

static void check_plain(const ptx_context *x, const void *shared, const void *global,
                        uint32_t bytes, const ptx_site *site) {
    if (bytes % CHUNK != 0)
        report("a number of bytes that is no multiple of 16", site);
    if ((uintptr_t)global % CHUNK != 0)
        report("an address in global memory that is no multiple of 16", site);
    (void)check_shared(x, shared, bytes, CHUNK, site);
}

static void move(void *to, const void *from, size_t bytes, const ptx_site *site) {
    trace_read(from, bytes, site->file, site->line);
    trace_write(to, bytes, site->file, site->line);
    memcpy(to, from, bytes);
}

/* Who waits for the barrier's phase sees what was copied. */
static void complete(const ptx_context *x, void *barrier, int64_t bytes, const ptx_site *site) {
    trace_mbarrier(SIM_MBARRIER_ARRIVE, barrier);
    x->mbarrier_expect(barrier, -bytes, site);
}

/* ---- reductions ---- */

#define REDUCE(type, a, b)                                                                         \
    {                                                                                              \
        type old, other, next;                                                                     \
        memcpy(&old, a, sizeof old);                                                               \
        memcpy(&other, b, sizeof other);                                                           \
        next = operation == PTX_REDUCE_ADD   ? (type)(old + other)                                 \
               : operation == PTX_REDUCE_MIN ? (other < old ? other : old)                         \
                                             : (other > old ? other : old);                        \
        memcpy(a, &next, sizeof next);                                                             \
    }

static void reduce_bits(ptx_reduction operation, uint8_t *to, const uint8_t *from, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i)
        to[i] = operation == PTX_REDUCE_AND  ? to[i] & from[i]
                : operation == PTX_REDUCE_OR ? to[i] | from[i]
                                             : to[i] ^ from[i];
}

/* One element; false: not simulated. */
static bool reduce(ptx_reduction operation, uint32_t type, void *to, const void *from,
                   const ptx_site *site) {
    const bool wide = type == PTX_TENSOR_U64 || type == PTX_TENSOR_S64 || type == PTX_TENSOR_F64;
    const size_t bytes = wide ? 8 : 4;
    if (operation >= PTX_REDUCE_AND) {
        if (type < PTX_TENSOR_U32 || type > PTX_TENSOR_S64)
            return false;
        reduce_bits(operation, to, from, bytes);
    } else if (type == PTX_TENSOR_U32) {
        REDUCE(uint32_t, to, from)
    } else if (type == PTX_TENSOR_S32) {
        if (operation == PTX_REDUCE_ADD)
            REDUCE(uint32_t, to, from)
        else
            REDUCE(int32_t, to, from)
    } else if (type == PTX_TENSOR_U64) {
        REDUCE(uint64_t, to, from)
    } else if (type == PTX_TENSOR_S64) {
        if (operation == PTX_REDUCE_ADD)
            REDUCE(uint64_t, to, from)
        else
            REDUCE(int64_t, to, from)
    } else if (type == PTX_TENSOR_F32 && operation == PTX_REDUCE_ADD) {
        REDUCE(float, to, from)
    } else if (type == PTX_TENSOR_F64 && operation == PTX_REDUCE_ADD) {
        REDUCE(double, to, from)
    } else {
        return false;
    }
    trace_read(from, bytes, site->file, site->line);
    sim_atomic_done(to, bytes, true, site->file, site->line);
    return true;
}

/* ---- plain copies ---- */

static void call_load(const ptx_context *x, void *shared, const void *global, uint32_t bytes,
                      void *barrier, const ptx_site *site) {
    check_plain(x, shared, global, bytes, site);
    move(shared, global, bytes, site);
    complete(x, barrier, bytes, site);
}

static void call_store(const ptx_context *x, void *global, const void *shared, uint32_t bytes,
                       const ptx_site *site) {
    check_plain(x, shared, global, bytes, site);
    move(global, shared, bytes, site);
}

static void call_reduce(const ptx_context *x, ptx_reduction operation, uint32_t type, void *global,
                        const void *shared, uint32_t bytes, const ptx_site *site) {
    const uint32_t one =
        type == PTX_TENSOR_U32 || type == PTX_TENSOR_S32 || type == PTX_TENSOR_F32 ? 4 : 8;
    check_plain(x, shared, global, bytes, site);
    for (uint32_t i = 0; i < bytes; i += one)
        if (!reduce(operation, type, (char *)global + i, (const char *)shared + i, site))
            report("this reduction is not simulated", site);
}

/* ---- tensors ---- */

typedef struct tensor_copy {
    ptx_tensor tensor;
    const int32_t *start;
    const ptx_site *site;
    char *shared, *base; /* base: address 0 of shared memory */
} tensor_copy;

static uint32_t volume(const ptx_tensor *t) {
    uint32_t n = 1;
    for (uint32_t i = 0; i < t->rank; ++i)
        n *= t->box[i];
    return n;
}

static tensor_copy begin(const ptx_context *x, const void *map, uint32_t rank, const int32_t *start,
                         char *shared, const ptx_site *site) {
    tensor_copy c = {.start = start, .site = site, .shared = shared, .base = *x->shared};
    if (!ptx_tensor_decode(map, &c.tensor))
        report("its tensor map is none that cuTensorMapEncodeTiled made", site);
    if (c.tensor.rank != rank)
        report("its tensor map is of another rank", site);
    (void)check_shared(x, shared, (size_t)volume(&c.tensor) * c.tensor.bytes, TENSOR_ALIGNMENT,
                       site);
    return c;
}

/* The n-th element of the box: where it lies in the tensor; NULL: outside of it. */
static char *in_tensor(const tensor_copy *c, uint32_t n) {
    const ptx_tensor *t = &c->tensor;
    uint64_t offset = 0;
    for (uint32_t i = 0; i < t->rank; ++i) {
        const int64_t at = (int64_t)c->start[i] + n % t->box[i];
        if (at < 0 || (uint64_t)at >= t->size[i])
            return NULL;
        offset += (uint64_t)at * t->stride[i];
        n /= t->box[i];
    }
    return t->base + offset;
}

/* And in shared memory: a swizzle takes bits 7 and up of the address to its bits 4 and up. */
static char *in_shared(const tensor_copy *c, uint32_t n) {
    const size_t at = (size_t)(c->shared - c->base) + (size_t)n * c->tensor.bytes;
    return c->base + (at ^ (at >> 7 & ((1u << c->tensor.swizzle) - 1)) << 4);
}

/* What lies outside of the tensor is zero, and counts as a byte that has come. */
static void call_tensor_load(const ptx_context *x, void *shared, const void *map, uint32_t rank,
                             const int32_t *start, void *barrier, const ptx_site *site) {
    static const char zero[8];
    const tensor_copy c = begin(x, map, rank, start, shared, site);
    const uint32_t n = volume(&c.tensor);
    for (uint32_t i = 0; i < n; ++i) {
        const char *from = in_tensor(&c, i);
        move(in_shared(&c, i), from != NULL ? from : zero, c.tensor.bytes, site);
    }
    complete(x, barrier, (int64_t)n * c.tensor.bytes, site);
}

static void call_tensor_store(const ptx_context *x, const void *map, uint32_t rank,
                              const int32_t *start, void *shared, int reduction,
                              const ptx_site *site) {
    const tensor_copy c = begin(x, map, rank, start, shared, site);
    const uint32_t n = volume(&c.tensor);
    for (uint32_t i = 0; i < n; ++i) {
        char *to = in_tensor(&c, i);
        if (to != NULL && reduction < 0)
            move(to, in_shared(&c, i), c.tensor.bytes, site);
        else if (to != NULL &&
                 !reduce((ptx_reduction)reduction, c.tensor.type, to, in_shared(&c, i), site))
            report("this reduction is not simulated", site);
    }
}

void ptx_bulk_fill(ptx_context *x) {
    x->bulk_load = call_load;
    x->bulk_store = call_store;
    x->bulk_reduce = call_reduce;
    x->tensor_load = call_tensor_load;
    x->tensor_store = call_tensor_store;
}
