#include "sim/ptx/launch.h"

#include "sim/cluster.h"
#include "sim/ptx/emit.h"
#include "sim/ptx/grid.h"
#include "sim/ptx/heap.h"
#include "sim/ptx/internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct thread_code {
    ptx_entry *entry;
    ptx_context *context;
} thread_code;

extern uint3 threadIdx, blockIdx; /* of the thread that runs (block.c) */

static size_t number_of(const ptx_function *k) {
    return (size_t)(k - k->module->kernels);
}

/* The C code, in memory of its own. */
static assay_status translate(const ptx_function *k, arena *memory, const char **code) {
    jmp_buf out_of_memory;
    memory->out_of_memory = &out_of_memory;
    if (setjmp(out_of_memory) != 0)
        return assay_fail(ASSAY_ERR_MEMORY, "%s: no memory to translate it", k->name);
    *code = emit_kernel(&k->module->tree, k->module->functions[number_of(k)], k->module->records,
                        memory, NULL, NULL);
    return ASSAY_OK;
}

void ptx_module_record(ptx_module *module, bool on) {
    for (int32_t i = 0; i < module->n_kernels && module->records != on; ++i)
        ptx_unload(&module->compiled[i]);
    module->records = on;
}

assay_status ptx_compile(const ptx_function *k) {
    ptx_compiled *compiled = &k->module->compiled[number_of(k)];
    const char *code;
    arena memory = {0};
    if (compiled->object != NULL)
        return ASSAY_OK;
    assay_status status = translate(k, &memory, &code);
    if (status == ASSAY_OK)
        status = ptx_build(code, k->name, compiled);
    arena_free(&memory);
    return status;
}

assay_status ptx_prepare(const ptx_function *k, const char *folder) {
    const char *code;
    arena memory = {0};
    assay_status status = translate(k, &memory, &code);
    if (status == ASSAY_OK)
        status = ptx_store(code, k->name, folder);
    arena_free(&memory);
    return status;
}

static assay_status refuse(const ptx_function *k, assay_status status, const char *why) {
    return assay_fail(status, "%s: launch of %s refused: %s", k->module->tree.name, k->name, why);
}

static assay_status check(const ptx_function *k, const uint32_t grid[3], const uint32_t block[3],
                          const uint32_t cluster[3], size_t shared) {
    const uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0)
        return refuse(k, ASSAY_ERR_DEVICE, "a grid without blocks");
    if (k->max_threads > 0 && threads > k->max_threads)
        return refuse(k, ASSAY_ERR_DEVICE, "a block of more threads than it was compiled for");
    for (int i = 0; i < 3; ++i) {
        if (k->required[i] > 0 && k->required[i] != block[i])
            return refuse(k, ASSAY_ERR_DEVICE, "a block of other than the shape it requires");
        if (grid[i] % cluster[i] != 0)
            return refuse(k, ASSAY_ERR_DEVICE, "a grid that is no multiple of its cluster");
    }
    if ((uint64_t)cluster[0] * cluster[1] * cluster[2] > SIM_MOST_CLUSTER)
        return refuse(k, ASSAY_ERR_DEVICE, "a cluster of more than 16 blocks");
    if (shared > ASSAY_MAX_SHARED)
        return refuse(k, ASSAY_ERR_DEVICE, "more shared memory than a block may have, 227 KB");
    return ASSAY_OK;
}

/* The launch's, or the one that the kernel requires. */
static assay_status find_cluster(const ptx_function *k, const uint32_t asked[3], uint32_t to[3]) {
    const uint32_t *required = k->module->functions[number_of(k)]->cluster;
    const bool asks = asked[0] > 0 && (asked[0] > 1 || asked[1] > 1 || asked[2] > 1);
    for (int i = 0; i < 3; ++i) {
        to[i] = !asks && required[0] > 0 ? required[i] : asked[i] > 0 ? asked[i] : 1;
        if (asks && required[0] > 0 && required[i] != asked[i])
            return refuse(k, ASSAY_ERR_DEVICE, "a cluster of other than the shape it requires");
    }
    return ASSAY_OK;
}

static uint64_t *blocks_begun;

void ptx_watch(uint64_t *blocks) {
    blocks_begun = blocks;
}

static void run_thread(const void *closure) {
    const thread_code *code = closure;
    if (blocks_begun != NULL && sim_now.thread == 0)
        __atomic_add_fetch(blocks_begun, 1, __ATOMIC_RELAXED);
    (void)code->entry(code->context);
}

/* Where the kernel finds its surroundings, but for what changes from thread to thread. */
static void describe(ptx_context *x, const ptx_function *k, const uint32_t grid[3],
                     const uint32_t block[3], const uint32_t cluster[3], size_t shared,
                     size_t dynamic, const char *parameters) {
    ptx_context_fill(x);
    x->shared = sim_dynamic_place();
    x->stacks = &sim_stacks.low;
    x->stacks_end = &sim_stacks.high;
    x->thread = (const ptx_three *)&threadIdx;
    x->block = (const ptx_three *)&blockIdx;
    x->thread_number = &sim_now.thread;
    x->block_shape = (ptx_three){block[0], block[1], block[2]};
    x->grid_shape = (ptx_three){grid[0], grid[1], grid[2]};
    x->cluster_shape = (ptx_three){cluster[0], cluster[1], cluster[2]};
    x->shared_bytes = (uint32_t)shared;
    x->dynamic_bytes = (uint32_t)dynamic;
    x->parameters = parameters;
    x->parameter_bytes = k->parameter_bytes;
    x->globals = k->module->globals;
}

/* A tensor map among them lies at a multiple of 64. */
static assay_status copy_parameters(const ptx_function *k, const void *parameters, char **copy) {
    const size_t bytes = (k->parameter_bytes + 64) & ~(size_t)63;
    *copy = aligned_alloc(64, bytes);
    if (*copy == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "%s: no memory for its parameters", k->name);
    if (k->parameter_bytes > 0)
        memcpy(*copy, parameters, k->parameter_bytes);
    return ASSAY_OK;
}

static assay_status launch_with(const ptx_function *k, const uint32_t grid[3],
                                const uint32_t block[3], const uint32_t asked[3], size_t dynamic,
                                const void *parameters, uint32_t *grid_barrier) {
    static const uint32_t one[] = {1, 1, 1};
    const size_t shared = k->dynamic_offset + dynamic;
    uint32_t cluster[3];
    char *copy = NULL;
    assay_status status = find_cluster(k, asked, cluster);
    if (status == ASSAY_OK)
        status = dynamic > ASSAY_MAX_SHARED
                     ? refuse(k, ASSAY_ERR_DEVICE, "more than 227 KB of shared memory")
                     : check(k, grid, block, cluster, shared);
    if (status == ASSAY_OK)
        status = ptx_compile(k);
    if (status == ASSAY_OK)
        status = copy_parameters(k, parameters, &copy);
    if (status != ASSAY_OK)
        return status;
    ptx_context x;
    describe(&x, k, grid, block, cluster, shared, dynamic, copy);
    x.grid_barrier = grid_barrier;
    if (grid_barrier != NULL)
        x.access = ptx_grid_access;
    const ptx_compiled *compiled = &k->module->compiled[number_of(k)];
    const thread_code code = {compiled->entry, &x};
    const sim_launch launch = {.kernel = k->own_name,
                               .file = k->module->tree.name,
                               .line = k->module->functions[number_of(k)]->line,
                               .grid = {grid[0], grid[1], grid[2]},
                               .block = {block[0], block[1], block[2]},
                               .shared_bytes = shared,
                               .run = run_thread,
                               .closure = &code,
                               .records = k->module->records,
                               .proxies = k->module->proxies,
                               .unordered = k->unordered && grid_barrier == NULL &&
                                            (uint64_t)cluster[0] * cluster[1] * cluster[2] == 1,
                               .sites = (const sim_site *)(const void *)compiled->sites,
                               .n_sites = compiled->n_sites};
    sim_cluster_shape(cluster);
    status = sim_launch_run(&launch);
    sim_cluster_shape(one);
    ptx_heap_settle();
    free(copy);
    return status;
}

assay_status ptx_launch(const ptx_function *k, const uint32_t grid[3], const uint32_t block[3],
                        const uint32_t cluster[3], size_t dynamic, const void *parameters) {
    return launch_with(k, grid, block, cluster, dynamic, parameters, NULL);
}

assay_status ptx_launch_cooperative(const ptx_function *k, const uint32_t grid[3],
                                    const uint32_t block[3], const uint32_t cluster[3],
                                    size_t dynamic, const void *parameters) {
    uint32_t *barrier = ptx_grid_begin((uint64_t)grid[0] * grid[1] * grid[2]);
    if (barrier == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "%s: no memory for its grid's barrier", k->name);
    const assay_status status = launch_with(k, grid, block, cluster, dynamic, parameters, barrier);
    ptx_grid_end();
    return status;
}
