#include "sim/exec/pool.h"

#include "sim/exec/call.h"
#include "sim/exec/capture.h"
#include "sim/exec/graph_memory.h"
#include "sim/exec/handles.h"
#include "sim/exec/report.h"
#include "sim/exec/table.h"
#include "sim/exec/work.h"

#include <stdlib.h>
#include <string.h>

enum { SWITCHES = 3, THRESHOLD, RESERVED, MOST_RESERVED, USED, MOST_USED };
enum { PINNED = 1, READ_WRITE = 3 };

struct exec_pool {
    int switches[SWITCHES];
    uint64_t threshold, used, most_used, reserved, most_reserved, limit;
    bool destroyed;
};

/* Memory is reserved for pools in these units, on an H200. */
#define UNIT ((uint64_t)32 << 20)

static uint64_t up(uint64_t bytes) {
    return (bytes + UNIT - 1) / UNIT * UNIT;
}

static uint64_t more(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static uint64_t less(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static exec_pool own = {.switches = {1, 1, 1}, .limit = EXEC_DEVICE_BYTES};
static exec_pool *current = &own;
static exec_table pool_of; /* by the addresses of their memory */

static bool is_pool(const exec_pool *pool) {
    return pool == &own || exec_handle_is(pool, EXEC_HANDLE_POOL);
}

exec_pool *exec_pool_default(void) {
    return &own;
}

exec_pool *exec_pool_current(void) {
    return current;
}

exec_error exec_pool_set_current(exec_pool *pool) {
    if (!is_pool(pool))
        return EXEC_INVALID_VALUE;
    current = pool;
    return EXEC_SUCCESS;
}

exec_error exec_pool_create(exec_pool **pool, const exec_pool_properties *p) {
    if (pool == NULL || p == NULL || p->type != PINNED)
        return EXEC_INVALID_VALUE;
    if (p->place.type == 0)
        return EXEC_INVALID_VALUE;
    if (p->handle_types != 0 || p->place.type != EXEC_LOCATION_DEVICE) {
        exec_remark("%s: pools for other processes, or of the host's memory, are not simulated",
                    exec_call_name());
        return EXEC_NOT_SUPPORTED;
    }
    if (p->place.number != 0)
        return EXEC_INVALID_VALUE;
    exec_pool *made = calloc(1, sizeof *made);
    if (made == NULL || exec_handle_add(made, EXEC_HANDLE_POOL) != ASSAY_OK) {
        free(made);
        return EXEC_OUT_OF_MEMORY;
    }
    *made = (exec_pool){.switches = {1, 1, 1}};
    made->limit = p->most_bytes > 0 ? less(p->most_bytes, EXEC_DEVICE_BYTES) : EXEC_DEVICE_BYTES;
    made->limit = up(made->limit);
    *pool = made;
    return EXEC_SUCCESS;
}

static void free_unused(exec_pool *pool) {
    if (pool->destroyed && pool->used == 0)
        free(pool);
}

exec_error exec_pool_destroy(exec_pool *pool) {
    if (!exec_handle_is(pool, EXEC_HANDLE_POOL))
        return EXEC_INVALID_VALUE;
    exec_handle_remove(pool);
    if (current == pool)
        current = &own;
    pool->destroyed = true;
    free_unused(pool);
    return EXEC_SUCCESS;
}

exec_error exec_pool_trim(exec_pool *pool, size_t bytes) {
    if (!is_pool(pool))
        return EXEC_INVALID_VALUE;
    const uint64_t kept = more(pool->used, less(bytes, EXEC_DEVICE_BYTES));
    pool->reserved = less(pool->reserved, up(kept));
    return EXEC_SUCCESS;
}

/* ---- attributes ---- */

exec_error exec_pool_get(exec_pool *pool, int attribute, void *value) {
    if (!is_pool(pool) || value == NULL || attribute < 1 || attribute > MOST_USED)
        return EXEC_INVALID_VALUE;
    if (attribute <= SWITCHES) {
        memcpy(value, &pool->switches[attribute - 1], sizeof(int));
        return EXEC_SUCCESS;
    }
    const uint64_t sizes[] = {[THRESHOLD] = pool->threshold,
                              [RESERVED] = pool->reserved,
                              [MOST_RESERVED] = pool->most_reserved,
                              [USED] = pool->used,
                              [MOST_USED] = pool->most_used};
    memcpy(value, &sizes[attribute], sizeof sizes[0]);
    return EXEC_SUCCESS;
}

exec_error exec_pool_set(exec_pool *pool, int attribute, const void *value) {
    uint64_t size;
    if (!is_pool(pool) || value == NULL || attribute < 1)
        return EXEC_INVALID_VALUE;
    if (attribute <= SWITCHES) {
        memcpy(&pool->switches[attribute - 1], value, sizeof(int));
        return EXEC_SUCCESS;
    }
    memcpy(&size, value, sizeof size);
    if (attribute == THRESHOLD)
        pool->threshold = size;
    else if (attribute == MOST_RESERVED && size == 0)
        pool->most_reserved = pool->reserved;
    else if (attribute == MOST_USED && size == 0)
        pool->most_used = pool->used;
    else
        return EXEC_INVALID_VALUE;
    return EXEC_SUCCESS;
}

/* ---- access: the device's own cannot be taken away ---- */

exec_error exec_pool_set_access(exec_pool *pool, const exec_pool_access *access, size_t n) {
    if (!is_pool(pool) || (access == NULL && n > 0))
        return EXEC_INVALID_VALUE;
    for (size_t i = 0; i < n; ++i) {
        const exec_pool_access *a = &access[i];
        if (a->place.type != EXEC_LOCATION_DEVICE || (a->flags != READ_WRITE && a->flags != 0))
            return EXEC_NOT_SUPPORTED;
        if (a->place.number != 0 || a->flags != READ_WRITE)
            return EXEC_INVALID_DEVICE;
    }
    return EXEC_SUCCESS;
}

enum { HOST_NODE = 3 };

exec_error exec_pool_get_access(exec_pool *pool, const exec_location *place, int *flags) {
    if (!is_pool(pool) || place == NULL || flags == NULL)
        return EXEC_INVALID_VALUE;
    const bool device = place->type == EXEC_LOCATION_DEVICE;
    if (place->type < EXEC_LOCATION_DEVICE || place->type > HOST_NODE ||
        (device && place->number != 0))
        return EXEC_INVALID_VALUE;
    *flags = device ? READ_WRITE : 0;
    return EXEC_SUCCESS;
}

/* ---- memory ---- */

static exec_error take(exec_pool *pool, void **memory, size_t bytes) {
    if (bytes > pool->limit - pool->used)
        return EXEC_OUT_OF_MEMORY;
    const exec_error error = exec_allocate(memory, bytes, EXEC_DEVICE);
    if (error != EXEC_SUCCESS || *memory == NULL)
        return error;
    if (exec_table_put(&pool_of, *memory, pool) != ASSAY_OK) {
        (void)exec_deallocate(*memory);
        *memory = NULL;
        return EXEC_OUT_OF_MEMORY;
    }
    pool->used += bytes;
    pool->most_used = more(pool->most_used, pool->used);
    pool->reserved = more(pool->reserved, up(pool->used));
    pool->most_reserved = more(pool->most_reserved, pool->reserved);
    return EXEC_SUCCESS;
}

exec_error exec_pool_allocate(exec_pool *pool, void **memory, size_t bytes, void *stream) {
    exec_stream *s;
    exec_error error = is_pool(pool) ? exec_stream_of(stream, &s) : EXEC_INVALID_VALUE;
    if (error == EXEC_SUCCESS && exec_capture_of(s) != NULL) /* a graph's, and of no pool */
        return exec_allocate_in(memory, bytes, s);
    if (error == EXEC_SUCCESS)
        error = exec_capture_legacy(s);
    if (error == EXEC_SUCCESS)
        error = exec_capture_unsafe();
    return error == EXEC_SUCCESS ? take(pool, memory, bytes) : error;
}

exec_pool *exec_pool_of(const void *memory) {
    return exec_table_get(&pool_of, memory);
}

void exec_pool_freed(const void *memory, size_t bytes) {
    exec_pool *pool = exec_table_get(&pool_of, memory);
    if (pool == NULL)
        return;
    exec_table_remove(&pool_of, memory);
    pool->used -= bytes;
    pool->reserved = less(pool->reserved, more(up(pool->used), pool->threshold / UNIT * UNIT));
    free_unused(pool);
}

exec_error exec_pool_at(const exec_location *place, int type) {
    enum { MANAGED = 2 };
    if (place == NULL || place->type > HOST_NODE)
        return place == NULL ? EXEC_INVALID_VALUE : EXEC_NOT_SUPPORTED;
    if (place->type < (type == MANAGED ? 0 : EXEC_LOCATION_DEVICE) || type < PINNED ||
        type > MANAGED || (place->type == EXEC_LOCATION_DEVICE && place->number != 0))
        return EXEC_INVALID_VALUE;
    if (place->type == EXEC_LOCATION_DEVICE && type == PINNED)
        return EXEC_SUCCESS;
    exec_problem(EXEC_PROBLEM_NOT_SIMULATED,
                 "%s of a pool of the host's or of managed memory is not simulated",
                 exec_call_name());
    return EXEC_NOT_SUPPORTED;
}
