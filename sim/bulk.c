/*
 * Bulk copies between global and shared memory, plain and of tensors (TMA). The recorder sees their
 * accesses where they are issued; the bytes move then, or when a thread waits (operation.h),
 * and in between a destination in shared memory holds 0xFF. An mbarrier hears of its bytes.
 */
#include "sim/cluster.h"
#include "sim/operation.h"
#include "sim/proxy.h"
#include "sim/ptx/tensor_map.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 16, TENSOR_ALIGNMENT = 128, MAP_ALIGNMENT = 64 };

typedef struct bulk {
    sim_operation op; /* first */
    bool loads;
    char *shared, *global; /* global: of a plain copy */
    uint32_t bytes;
    ptx_tensor tensor; /* rank 0: a plain copy */
    uint32_t pitch;    /* of a box's rows in shared memory, bytes */
    int32_t start[PTX_TENSOR_RANK];
    char *base; /* address 0 of shared memory */
    sim_reduction reduction;
    uint32_t type;
    bool again; /* of a multicast: what it loads was read for another block already */
} bulk;

/* Of the block that runs. */
struct sim_bulks {
    uint32_t commits[SIM_MAX_THREADS];
};
const size_t sim_bulks_bytes = sizeof(struct sim_bulks);
static struct sim_bulks *now;

void sim_bulks_use(struct sim_bulks *bulks) {
    now = bulks;
}

void sim_bulks_begin(void) {
    memset(now->commits, 0, (size_t)sim_now.n_threads * sizeof now->commits[0]);
}

SIM_REPORT static void report(const char *what, const sim_site *site) {
    char where[SIM_POSITION];
    sim_defect("wrong bulk copy", site->file, site->line, "%s: %s",
               sim_block_thread_text(sim_now.block, sim_now.thread, where), what);
    sim_abandon();
}

/* Shared memory of the block, or of the one of its cluster that the address lies in. */
static sim_range memory_of(const void *shared) {
    sim_range range;
    uint32_t rank;
    return sim_cluster_find(shared, &rank, &range) ? range : sim_block_shared();
}

static void check_shared(const char *shared, size_t bytes, size_t alignment, const sim_site *site) {
    const sim_range block = memory_of(shared);
    const size_t at = (size_t)(shared - block.low);
    if (at % alignment != 0)
        report(alignment == CHUNK ? "an address in shared memory that is no multiple of 16"
                                  : "an address in shared memory that is no multiple of 128",
               site);
    if (at > (size_t)(block.high - block.low) || bytes > (size_t)(block.high - block.low) - at)
        report("it leaves the block's shared memory", site);
}

static void check_plain(const void *shared, const void *global, uint32_t bytes,
                        const sim_site *site) {
    if (bytes % CHUNK != 0)
        report("a number of bytes that is no multiple of 16", site);
    if ((uintptr_t)global % CHUNK != 0)
        report("an address in global memory that is no multiple of 16", site);
    check_shared(shared, bytes, CHUNK, site);
}

/* ---- reductions ---- */

#define REDUCE(type, a, b)                                                                         \
    {                                                                                              \
        type old, other, next;                                                                     \
        memcpy(&old, a, sizeof old);                                                               \
        memcpy(&other, b, sizeof other);                                                           \
        next = operation == SIM_BULK_ADD   ? (type)(old + other)                                   \
               : operation == SIM_BULK_MIN ? (other < old ? other : old)                           \
                                           : (other > old ? other : old);                          \
        memcpy(a, &next, sizeof next);                                                             \
    }

/* As PTX says of add.f32: what is subnormal counts as 0 of its sign, before and behind the sum. */
static float without_subnormal(float x) {
    return fabsf(x) < FLT_MIN ? copysignf(0, x) : x;
}

static void add_floats(void *to, const void *from) {
    float old, other;
    memcpy(&old, to, sizeof old);
    memcpy(&other, from, sizeof other);
    old = without_subnormal(without_subnormal(old) + without_subnormal(other));
    memcpy(to, &old, sizeof old);
}

static void reduce_bits(sim_reduction operation, uint8_t *to, const uint8_t *from, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i)
        to[i] = operation == SIM_BULK_AND  ? to[i] & from[i]
                : operation == SIM_BULK_OR ? to[i] | from[i]
                                           : to[i] ^ from[i];
}

static bool can_reduce(sim_reduction operation, uint32_t type) {
    if (operation >= SIM_BULK_AND)
        return type >= PTX_TENSOR_U32 && type <= PTX_TENSOR_S64;
    return (type >= PTX_TENSOR_U32 && type <= PTX_TENSOR_S64) ||
           ((type == PTX_TENSOR_F32 || type == PTX_TENSOR_F64) && operation == SIM_BULK_ADD);
}

static size_t bytes_of(uint32_t type) {
    return type == PTX_TENSOR_U64 || type == PTX_TENSOR_S64 || type == PTX_TENSOR_F64 ? 8 : 4;
}

/* One element. */
static void reduce(sim_reduction operation, uint32_t type, void *to, const void *from) {
    const bool adds = operation == SIM_BULK_ADD;
    if (operation >= SIM_BULK_AND)
        reduce_bits(operation, to, from, bytes_of(type));
    else if (type == PTX_TENSOR_U32 || (type == PTX_TENSOR_S32 && adds))
        REDUCE(uint32_t, to, from)
    else if (type == PTX_TENSOR_S32)
        REDUCE(int32_t, to, from)
    else if (type == PTX_TENSOR_U64 || (type == PTX_TENSOR_S64 && adds))
        REDUCE(uint64_t, to, from)
    else if (type == PTX_TENSOR_S64)
        REDUCE(int64_t, to, from)
    else if (type == PTX_TENSOR_F32)
        add_floats(to, from);
    else
        REDUCE(double, to, from)
}

/* ---- what a copy consists of: pieces of at most 16 bytes ---- */

/* `global` is NULL where the piece lies outside of the tensor. */
typedef void visit_piece(const bulk *b, char *shared, char *global, uint32_t bytes);

/* In shared memory a swizzle takes bits 7 and up of the address to its bits 4 and up. */
static char *swizzled(const bulk *b, uint32_t offset) {
    const size_t at = (size_t)(b->shared - b->base) + offset;
    return b->base + (at ^ (at >> 7 & ((1u << b->tensor.swizzle) - 1)) << 4);
}

static bool is_inside(const ptx_tensor *t, uint32_t i, int64_t at) {
    return at >= 0 && (uint64_t)at < t->size[i];
}

/* A chunk of a row: whole where all of it is inside, by elements otherwise. A store writes whole
 * chunks, at the end of a row, too, so that it overwrites the bytes behind the last element. */
static void visit_chunk(const bulk *b, visit_piece *visit, uint32_t offset, int64_t x, char *row) {
    const ptx_tensor *t = &b->tensor;
    const uint32_t n = CHUNK / t->bytes;
    char *shared = swizzled(b, offset);
    if (row != NULL && is_inside(t, 0, x) && (!b->loads || is_inside(t, 0, x + n - 1))) {
        visit(b, shared, row + x * (int64_t)t->bytes, CHUNK);
        return;
    }
    for (uint32_t i = 0; i < n; ++i)
        visit(b, shared + i * t->bytes,
              row != NULL && is_inside(t, 0, x + i) ? row + (x + i) * (int64_t)t->bytes : NULL,
              t->bytes);
}

/* Where row n of the box begins: its element 0 of the first dimension; NULL: outside. */
static char *row_of(const bulk *b, uint32_t n) {
    const ptx_tensor *t = &b->tensor;
    uint64_t offset = 0;
    for (uint32_t i = 1; i < t->rank; ++i) {
        const int64_t at = (int64_t)b->start[i] + n % t->box[i];
        if (!is_inside(t, i, at))
            return NULL;
        offset += (uint64_t)at * t->stride[i];
        n /= t->box[i];
    }
    return t->base + offset;
}

static uint32_t row_bytes(const bulk *b) {
    return b->tensor.box[0] * b->tensor.bytes;
}

static void visit_row(const bulk *b, visit_piece *visit, uint32_t n) {
    char *row = row_of(b, n);
    for (uint32_t at = 0; at < row_bytes(b); at += CHUNK)
        visit_chunk(b, visit, n * b->pitch + at, (int64_t)b->start[0] + at / b->tensor.bytes, row);
}

static void visit_all(const bulk *b, visit_piece *visit) {
    if (b->tensor.rank == 0)
        for (uint32_t at = 0; at < b->bytes; at += CHUNK)
            visit(b, b->shared + at, b->global + at, CHUNK);
    else
        for (uint32_t n = 0; n < b->bytes / row_bytes(b); ++n)
            visit_row(b, visit, n);
}

/* Bytes are volatile: a call of memcpy would be recorded as an access of the thread that runs
 * (race_access.c). */
static void copy(char *to, const char *from, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; ++i)
        ((volatile char *)to)[i] = from[i];
}

static void fill(char *to, char with, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; ++i)
        ((volatile char *)to)[i] = with;
}

/* fp32 rounded to TF32 as an H100 does it: to nearest even, a NaN to one NaN. Both types that have
 * TF32 in their name round so; neither those nor F32_FTZ flush subnormal numbers. */
static uint32_t tf32_of(uint32_t bits) {
    if ((bits & 0x7fffffff) > 0x7f800000)
        return 0x7fffe000;
    return (bits + 0xfff + (bits >> 13 & 1)) & ~UINT32_C(0x1fff);
}

static void copy_tf32(char *to, const char *from, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; i += 4) {
        const uint32_t rounded = tf32_of(*(const volatile uint32_t *)(const void *)(from + i));
        *(volatile uint32_t *)(void *)(to + i) = rounded;
    }
}

/* Bytes outside of the tensor are zero, and count as bytes that have come. */
static void load_piece(const bulk *b, char *shared, char *global, uint32_t bytes) {
    if (global == NULL)
        fill(shared, 0, bytes);
    else if (b->tensor.type == PTX_TENSOR_TF32 || b->tensor.type == PTX_TENSOR_TF32_FTZ)
        copy_tf32(shared, global, bytes);
    else
        copy(shared, global, bytes);
}

static void blank_piece(const bulk *b, char *shared, char *global, uint32_t bytes) {
    (void)b;
    (void)global;
    fill(shared, -1, bytes);
}

static void store_piece(const bulk *b, char *shared, char *global, uint32_t bytes) {
    if (global == NULL)
        return;
    if (b->reduction == SIM_NO_REDUCTION)
        copy(global, shared, bytes);
    for (uint32_t i = 0; b->reduction != SIM_NO_REDUCTION && i < bytes;
         i += (uint32_t)bytes_of(b->type))
        reduce(b->reduction, b->type, global + i, shared + i);
}

/* ---- what the recorder sees ---- */

static sim_async recorded_reads, recorded_writes;

static void record_piece(const bulk *b, char *shared, char *global, uint32_t bytes) {
    const sim_site *site = &b->op.site;
    const uint32_t writes =
        b->reduction == SIM_NO_REDUCTION ? SIM_WRITES : SIM_READS | SIM_WRITES | SIM_STRONG;
    trace_async(&recorded_reads, b->loads ? global : shared, b->loads && global == NULL ? 0 : bytes,
                SIM_READS, site->file, site->line);
    trace_async(&recorded_writes, b->loads ? shared : global,
                !b->loads && global == NULL ? 0 : bytes, writes, site->file, site->line);
}

static void record(const bulk *b) {
    const uint32_t number = (uint32_t)sim_now.thread;
    if (!sim_trace_on)
        return;
    if (b->loads) {
        recorded_reads = recorded_writes = trace_mbarrier_agent(b->op.barrier);
    } else {
        recorded_reads = trace_agent(SIM_AGENT_READS, number, b->op.group);
        recorded_writes = trace_agent(SIM_AGENT_WRITES, number, b->op.group);
    }
    visit_all(b, record_piece);
}

/* ---- what the counters see ---- */

enum { SECTOR = 32 };
static struct {
    uint64_t number;
    uintptr_t last; /* a copy's pieces lie in order */
} sectors;

static void count_piece(const bulk *b, char *shared, char *global, uint32_t bytes) {
    const uintptr_t sector = (uintptr_t)global / SECTOR;
    (void)b;
    (void)shared;
    (void)bytes;
    if (global != NULL && sector != sectors.last) {
        ++sectors.number;
        sectors.last = sector;
    }
}

static void count(const bulk *b) {
    const sim_event first = b->loads                           ? SIM_EVENT_BULK_LOADS
                            : b->reduction == SIM_NO_REDUCTION ? SIM_EVENT_BULK_STORES
                                                               : SIM_EVENT_BULK_REDUCTIONS;
    if (!sim_trace_on)
        return;
    sectors.number = sectors.last = 0;
    if (!b->again)
        visit_all(b, count_piece);
    trace_count(first, 1);
    trace_count(first + 1, b->bytes);
    trace_count(first + 2, sectors.number);
}

/* ---- issue ---- */

static void run(sim_operation *op) {
    const bulk *b = (const bulk *)op;
    visit_all(b, b->loads ? load_piece : store_piece);
    if (b->loads)
        sim_mbarrier_bytes(op);
}

static void issue(const bulk *wanted, void *barrier, const sim_site *site) {
    bulk *b = malloc(sizeof *b);
    if (b == NULL)
        report("there is no memory to note it in", site);
    *b = *wanted;
    b->op = (sim_operation){.run = run,
                            .barrier = barrier,
                            .group = now->commits[sim_now.thread],
                            .phase = barrier != NULL ? sim_mbarrier_phases(barrier, site) : 0,
                            .shared = b->shared,
                            .bytes = b->bytes,
                            .site = *site};
    record(b);
    count(b);
    if (b->loads)
        visit_all(b, blank_piece);
    sim_operation_issue(&b->op);
}

static void load(void *shared, const void *global, uint32_t bytes, void *barrier, bool again,
                 const sim_site *site) {
    const bulk b = {.loads = true,
                    .shared = shared,
                    .global = (char *)(uintptr_t)global,
                    .bytes = bytes,
                    .reduction = SIM_NO_REDUCTION,
                    .again = again};
    check_plain(shared, global, bytes, site);
    issue(&b, barrier, site);
}

void sim_bulk_load(void *shared, const void *global, uint32_t bytes, void *barrier,
                   const sim_site *site) {
    load(shared, global, bytes, barrier, false, site);
}

/* A load goes to the same place in each block of the mask, and tells the barrier there. */
typedef struct multicast {
    char *shared, *barrier;
} multicast;

static bool next_of(uint32_t *mask, const void *shared, const void *barrier, multicast *to,
                    const sim_site *site) {
    if (*mask == 0)
        return false;
    const uint32_t rank = (uint32_t)__builtin_ctz(*mask);
    *mask &= *mask - 1;
    to->shared = sim_cluster_map_generic(shared, rank, site);
    to->barrier = sim_cluster_map_generic(barrier, rank, site);
    return true;
}

void sim_bulk_load_to_all(void *shared, const void *global, uint32_t bytes, void *barrier,
                          uint32_t mask, const sim_site *site) {
    bool again = false;
    for (multicast to; next_of(&mask, shared, barrier, &to, site); again = true)
        load(to.shared, global, bytes, to.barrier, again, site);
}

void sim_bulk_store(void *global, const void *shared, uint32_t bytes, int reduction, uint32_t type,
                    const sim_site *site) {
    const bulk b = {.shared = (char *)(uintptr_t)shared,
                    .global = global,
                    .bytes = bytes,
                    .reduction = (sim_reduction)reduction,
                    .type = type};
    check_plain(shared, global, bytes, site);
    if (reduction != SIM_NO_REDUCTION && !can_reduce((sim_reduction)reduction, type))
        report("this reduction is not simulated", site);
    issue(&b, NULL, site);
}

/* As an H200 takes them; it stops a kernel with error 715 otherwise. */
static void check_start(const bulk *b, const sim_site *site) {
    char text[96];
    if (b->start[0] * (int64_t)b->tensor.bytes % CHUNK != 0) {
        snprintf(text, sizeof text, "its first coordinate, %d, is no multiple of 16 bytes",
                 b->start[0]);
        report(text, site);
    }
    for (uint32_t i = 0; !b->loads && i < b->tensor.rank; ++i)
        if (b->start[i] < 0) {
            snprintf(text, sizeof text, "a coordinate of a store, %d, is negative", b->start[i]);
            report(text, site);
        }
}

/* With a swizzle, rows lie as far apart as it is wide, however short they are. */
static uint32_t pitch_of(const bulk *b) {
    return b->tensor.swizzle > 0 ? 16u << b->tensor.swizzle : row_bytes(b);
}

static bulk begin(bool loads, const void *map, uint32_t rank, const int32_t *at, const void *shared,
                  const sim_site *site) {
    bulk b = {.loads = loads,
              .shared = (char *)(uintptr_t)shared,
              .base = memory_of(shared).low,
              .reduction = SIM_NO_REDUCTION};
    uint32_t rows = 1;
    if ((uintptr_t)map % MAP_ALIGNMENT != 0)
        report("the address of its tensor map is no multiple of 64", site);
    if (!ptx_tensor_decode(map, &b.tensor))
        report("its tensor map is none that cuTensorMapEncodeTiled made", site);
    if (b.tensor.rank != rank)
        report("its tensor map is of another rank", site);
    for (uint32_t i = 0; i < rank; ++i) {
        rows *= i > 0 ? b.tensor.box[i] : 1;
        b.start[i] = at[i];
    }
    b.bytes = rows * row_bytes(&b);
    b.pitch = pitch_of(&b);
    check_start(&b, site);
    check_shared(shared, (size_t)(rows - 1) * b.pitch + row_bytes(&b), TENSOR_ALIGNMENT, site);
    return b;
}

static void load_tensor(void *shared, const void *map, uint32_t rank, const int32_t *at,
                        void *barrier, bool again, const sim_site *site) {
    bulk b = begin(true, map, rank, at, shared, site);
    b.again = again;
    issue(&b, barrier, site);
}

void sim_tensor_load(void *shared, const void *map, uint32_t rank, const int32_t *at, void *barrier,
                     const sim_site *site) {
    load_tensor(shared, map, rank, at, barrier, false, site);
}

void sim_tensor_load_to_all(void *shared, const void *map, uint32_t rank, const int32_t *at,
                            void *barrier, uint32_t mask, const sim_site *site) {
    bool again = false;
    for (multicast to; next_of(&mask, shared, barrier, &to, site); again = true)
        load_tensor(to.shared, map, rank, at, to.barrier, again, site);
}

void sim_tensor_store(const void *map, uint32_t rank, const int32_t *at, const void *shared,
                      int reduction, const sim_site *site) {
    bulk b = begin(false, map, rank, at, shared, site);
    b.reduction = (sim_reduction)reduction;
    b.type = b.tensor.type;
    if (reduction != SIM_NO_REDUCTION && !can_reduce((sim_reduction)reduction, b.type))
        report("this reduction is not simulated", site);
    issue(&b, NULL, site);
}

void sim_proxy_fence(const sim_site *site) {
    trace_proxy_fence();
    sim_poll("a fence", site->file, site->line);
}

void sim_bulk_commit(void) {
    ++now->commits[sim_now.thread];
}

void sim_bulk_wait(uint32_t groups, bool read, const sim_site *site) {
    const uint32_t commits = now->commits[sim_now.thread], number = (uint32_t)sim_now.thread;
    (void)site;
    if (commits <= groups)
        return;
    sim_operation_wait(commits - groups);
    trace_done(SIM_AGENT_READS, number, commits - groups);
    if (!read)
        trace_done(SIM_AGENT_WRITES, number, commits - groups);
}
