#include "sim/exec/launch.h"

#include "sim/defect.h"
#include "sim/exec/allocate.h"
#include "sim/exec/call.h"
#include "sim/exec/fault.h"
#include "sim/exec/limit.h"
#include "sim/exec/memory.h"
#include "sim/exec/overlap.h"
#include "sim/exec/properties.h"
#include "sim/exec/race.h"
#include "sim/exec/report.h"
#include "sim/ptx/launch.h"
#include "sim/race/race.h"
#include "sim/split.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct launch_work {
    exec_work work;
    exec_kernel *kernel;
    exec_launch launch;
    char parameters[];
} launch_work;

static uint64_t volume(exec_dim d) {
    return (uint64_t)d.x * d.y * d.z;
}

int exec_kernel_registers(const exec_kernel *k) {
    return k->function->max_registers > 0 ? (int)k->function->max_registers : 32;
}

int exec_kernel_threads(const exec_kernel *k) {
    const uint32_t most = k->function->max_threads;
    return most > 0 && most < EXEC_MOST_THREADS ? (int)most : EXEC_MOST_THREADS;
}

static int least(int a, int b) {
    return a < b ? a : b;
}

int exec_blocks_per_multiprocessor(const exec_kernel *k, uint64_t threads, size_t dynamic_shared) {
    if (threads == 0 || threads > EXEC_MOST_THREADS)
        return 0;
    const uint64_t warps = (threads + 31) / 32;
    const size_t shared = k->function->shared_bytes + dynamic_shared;
    int n = least(EXEC_MULTIPROCESSOR_BLOCKS, (int)(EXEC_MULTIPROCESSOR_THREADS / (32 * warps)));
    n = least(n, (int)(EXEC_MULTIPROCESSOR_REGISTERS /
                       (32 * warps * (uint64_t)exec_kernel_registers(k))));
    if (shared > EXEC_MOST_SHARED)
        return 0;
    return least(n, (int)(EXEC_MULTIPROCESSOR_SHARED / (shared + EXEC_RESERVED_SHARED)));
}

exec_error exec_shared_for_blocks(const exec_kernel *k, int n, int threads, size_t *bytes) {
    if (n <= 0 || threads <= 0)
        return EXEC_INVALID_VALUE;
    const size_t own = k->function->shared_bytes;
    size_t share = EXEC_MULTIPROCESSOR_SHARED / (size_t)n;
    share = share > EXEC_RESERVED_SHARED ? share - EXEC_RESERVED_SHARED : 0;
    share = share < EXEC_MOST_SHARED ? share : EXEC_MOST_SHARED;
    if (share < own || exec_blocks_per_multiprocessor(k, (uint64_t)threads, share - own) < n)
        return EXEC_INVALID_VALUE;
    *bytes = share - own;
    return EXEC_SUCCESS;
}

exec_error exec_kernel_set(exec_kernel *k, int attribute, int value) {
    switch (attribute) {
    case 8:
        if (value < 0 || (size_t)value + k->function->shared_bytes > EXEC_MOST_SHARED)
            return EXEC_INVALID_VALUE;
        k->most_dynamic_shared = value;
        return EXEC_SUCCESS;
    case 9:
        if (value < -1 || value > 100)
            return EXEC_INVALID_VALUE;
        k->carveout = value;
        return EXEC_SUCCESS;
    case 11:
    case 12:
    case 13:
        k->cluster[attribute - 11] = value;
        return EXEC_SUCCESS;
    case 14:
        k->any_cluster_size = value;
        return EXEC_SUCCESS;
    case 15: /* how clusters are spread */
        return EXEC_SUCCESS;
    default:
        return EXEC_INVALID_VALUE;
    }
}

/* ---- what CUDA refuses ---- */

static bool fits_device(const exec_launch *l) {
    const uint64_t threads = volume(l->block);
    return threads > 0 && threads <= EXEC_MOST_THREADS && l->block.x <= 1024 &&
           l->block.y <= 1024 && l->block.z <= 64 && volume(l->grid) > 0 &&
           l->grid.x <= INT32_MAX && l->grid.y <= 65535 && l->grid.z <= 65535;
}

static exec_error check_block(const exec_kernel *k, const exec_launch *l) {
    const ptx_function *f = k->function;
    if (!fits_device(l)) {
        exec_remark("%s: a grid of %u x %u x %u blocks of %u x %u x %u threads", f->own_name,
                    l->grid.x, l->grid.y, l->grid.z, l->block.x, l->block.y, l->block.z);
        return EXEC_INVALID_CONFIGURATION;
    }
    if (f->required[0] > 0 && (l->block.x != f->required[0] || l->block.y != f->required[1] ||
                               l->block.z != f->required[2]))
        return EXEC_INVALID_VALUE;
    if (volume(l->block) <= (uint64_t)exec_kernel_threads(k))
        return EXEC_SUCCESS;
    exec_remark("%s: a block of %u x %u x %u threads, but __launch_bounds__ or .maxntid promise at "
                "most %d",
                f->own_name, l->block.x, l->block.y, l->block.z, exec_kernel_threads(k));
    return EXEC_INVALID_VALUE;
}

static exec_error check_shared(const exec_kernel *k, const exec_launch *l) {
    const size_t own = k->function->shared_bytes;
    const size_t most = k->most_dynamic_shared >= 0 ? (size_t)k->most_dynamic_shared
                        : own < EXEC_SHARED         ? EXEC_SHARED - own
                                                    : 0;
    if (l->dynamic_shared <= most && own + l->dynamic_shared <= EXEC_MOST_SHARED)
        return EXEC_SUCCESS;
    exec_problem_in(
        k->name, "", EXEC_PROBLEM_KERNEL,
        "%s: its launch asks for %zu bytes of dynamic shared memory beside %zu of its own, "
        "but may have %zu: cudaFuncSetAttribute allows up to %d",
        k->function->own_name, l->dynamic_shared, own, most, EXEC_MOST_SHARED);
    return EXEC_INVALID_VALUE;
}

static exec_error check_cluster(const exec_kernel *k, const exec_launch *l) {
    const uint64_t blocks = volume(l->cluster);
    if (l->cluster.x == 0)
        return EXEC_SUCCESS;
    if (blocks == 0 || blocks > (k->any_cluster_size ? 16u : 8u) || l->grid.x % l->cluster.x != 0 ||
        l->grid.y % l->cluster.y != 0 || l->grid.z % l->cluster.z != 0)
        return EXEC_INVALID_CLUSTER;
    return EXEC_SUCCESS;
}

static exec_error check_together(const exec_kernel *k, const exec_launch *l) {
    const int n = exec_blocks_per_multiprocessor(k, volume(l->block), l->dynamic_shared);
    if (!l->cooperative || volume(l->grid) <= (uint64_t)n * EXEC_MULTIPROCESSORS)
        return EXEC_SUCCESS;
    exec_remark("%s: %" PRIu64 " blocks are launched to run together, but the device holds %d on "
                "each of its %d multiprocessors",
                k->function->own_name, volume(l->grid), n, EXEC_MULTIPROCESSORS);
    return EXEC_COOPERATIVE_TOO_LARGE;
}

static exec_error check(const exec_kernel *k, const exec_launch *l) {
    exec_error error = check_block(k, l);
    if (error == EXEC_SUCCESS)
        error = check_shared(k, l);
    if (error == EXEC_SUCCESS)
        error = check_cluster(k, l);
    return error == EXEC_SUCCESS ? check_together(k, l) : error;
}

/* ---- running ---- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The line names the kernel. */
static void fail(const exec_kernel *k, assay_status status) {
    exec_problem_in(k->name, sim_defect_file(), EXEC_PROBLEM_KERNEL, "%s", assay_error());
    exec_error error = EXEC_LAUNCH_FAILURE;
    if (status == ASSAY_ERR_UNSUPPORTED)
        error = EXEC_NOT_SUPPORTED;
    else if (strcmp(sim_defect_get()->kind, EXEC_FAULT) == 0)
        error = EXEC_ILLEGAL_ADDRESS;
    else if (status == ASSAY_ERR_KERNEL && strstr(assay_error(), "assert") != NULL)
        error = EXEC_ASSERT;
    exec_device_lost(error);
}

/* When the program last wrote, by a copy or a fill, what one of the parameters points to. */
static uint64_t last_written(const launch_work *w) {
    const ptx_function *f = w->kernel->function;
    uint64_t last = 0;
    for (size_t at = 0; at + sizeof(void *) <= f->parameter_bytes; at += sizeof(void *)) {
        const void *word;
        memcpy(&word, w->parameters + at, sizeof word);
        const exec_allocation *a = exec_memory_find(word);
        if (a != NULL && a->written > last)
            last = a->written;
    }
    return last;
}

/* How many launches like this one the kernel has had in a row: with the same configuration and the
 * same bytes of parameters, and nothing that those point to written by the program between. */
static uint64_t count_equal(const launch_work *w) {
    exec_kernel *k = w->kernel;
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ last_written(w); /* FNV-1a */
    const unsigned char *byte = (const unsigned char *)&w->launch;
    for (size_t i = offsetof(launch_work, launch); i < w->work.bytes; ++i)
        hash = (hash ^ *byte++) * UINT64_C(0x100000001b3);
    k->equal = hash == k->last ? k->equal + 1 : 0;
    k->last = hash;
    return k->equal;
}

static void touch(uintptr_t low, uintptr_t high, bool writes) {
    exec_overlap_touch((const void *)low, high - low, writes);
}

/* Of the last launch, for what other streams and the host do beside it. */
static void tell_accesses(const exec_kernel *k) {
    char what[64];
    snprintf(what, sizeof what, "kernel %s", k->function->own_name);
    exec_overlap_by(what, k->name);
    if (k->function->system_scope)
        exec_overlap_talks();
    if (exec_race_records() && (exec_streams_several() || exec_memory_any_host()))
        sim_race_accessed(touch);
}

static int32_t processes = 1;

void exec_launch_share(int32_t n) {
    processes = n;
}

static void run_launch(exec_work *work) {
    const launch_work *w = (const launch_work *)work;
    exec_kernel *k = w->kernel;
    const exec_launch *l = &w->launch;
    if (!exec_limit_allows(k->name, count_equal(w))) {
        if (k->row != NULL)
            ++k->row->skipped;
        return;
    }
    if (k->row != NULL) {
        ++k->row->launches;
        k->row->blocks += volume(l->grid);
        k->row->threads += volume(l->grid) * volume(l->block);
    }
    const uint32_t grid[3] = {l->grid.x, l->grid.y, l->grid.z};
    const uint32_t block[3] = {l->block.x, l->block.y, l->block.z};
    const uint32_t cluster[3] = {l->cluster.x, l->cluster.y, l->cluster.z};
    exec_report_begin(k->name, volume(l->grid));
    ptx_watch(&exec_report_get()->now.begun);
    exec_fault_begin();
    /* Memory that is registered is not shared; a fork takes about a millisecond. */
    sim_split_allow(exec_host_any_registered() ? 1 : processes, 20000000);
    exec_limits_launched(k->function->allocates, k->function->prints);
    const double start = now();
    const assay_status status = (l->cooperative ? ptx_launch_cooperative : ptx_launch)(
        k->function, grid, block, cluster, l->dynamic_shared, w->parameters);
    if (k->row != NULL)
        k->row->seconds += now() - start;
    exec_fault_end();
    exec_report_end();
    exec_race_tell(k);
    tell_accesses(k);
    if (status != ASSAY_OK)
        fail(k, status);
    char what[EXEC_MEMORY_LINE];
    while (exec_memory_overrun(what))
        exec_problem_in(k->name, "", EXEC_PROBLEM_KERNEL, "%s: wrote %s", k->function->own_name,
                        what);
}

static void pack(const ptx_function *f, void **arguments, char *parameters) {
    for (int32_t i = 0; i < f->n_parameters; ++i)
        memcpy(parameters + f->parameters[i].offset, arguments[i], f->parameters[i].bytes);
}

exec_error exec_launch_work(exec_kernel *k, const exec_launch *launch, void **arguments,
                            const void *packed, exec_work **work) {
    const ptx_function *f = k->function;
    exec_launch l = *launch;
    *work = NULL;
    if (l.cluster.x == 0)
        l.cluster =
            (exec_dim){(uint32_t)k->cluster[0], (uint32_t)k->cluster[1], (uint32_t)k->cluster[2]};
    const exec_error error = check(k, &l);
    if (error != EXEC_SUCCESS)
        return error;
    if (f->n_parameters > 0 && arguments == NULL && packed == NULL)
        return EXEC_INVALID_VALUE;
    launch_work *w = exec_work_new(EXEC_WORK_KERNEL, sizeof *w + f->parameter_bytes, run_launch);
    if (w == NULL)
        return EXEC_OUT_OF_MEMORY;
    w->kernel = k;
    w->launch = l;
    if (packed != NULL)
        memcpy(w->parameters, packed, f->parameter_bytes);
    else
        pack(f, arguments, w->parameters);
    *work = &w->work;
    return EXEC_SUCCESS;
}

exec_error exec_launch_kernel(exec_kernel *k, const exec_launch *launch, void **arguments,
                              exec_stream *stream) {
    exec_work *work;
    const exec_error error = exec_launch_work(k, launch, arguments, NULL, &work);
    return error == EXEC_SUCCESS ? exec_work_submit(work, stream) : error;
}

const exec_kernel *exec_work_launch(const exec_work *work, exec_launch *launch) {
    const launch_work *w = (const launch_work *)work;
    if (work->run != run_launch)
        return NULL;
    *launch = w->launch;
    return w->kernel;
}

exec_error exec_work_relaunch(exec_work *work, const exec_launch *launch) {
    launch_work *w = (launch_work *)work;
    const exec_error error = check(w->kernel, launch);
    if (error == EXEC_SUCCESS)
        w->launch = *launch;
    return error;
}

void exec_work_keep(const exec_work *old, const exec_kernel *k, exec_launch *l) {
    const launch_work *w = (const launch_work *)old;
    if (old == NULL || old->run != run_launch)
        return;
    l->cooperative = w->launch.cooperative;
    if (w->kernel == k)
        l->cluster = w->launch.cluster;
}

void **exec_work_arguments(exec_work *work) {
    launch_work *w = (launch_work *)work;
    const ptx_function *f = w->kernel->function;
    void **arguments = calloc((size_t)f->n_parameters + 1, sizeof(void *));
    for (int32_t i = 0; arguments != NULL && i < f->n_parameters; ++i)
        arguments[i] = w->parameters + f->parameters[i].offset;
    return arguments;
}
