/* Memory pools. Memory of a pool is allocated as any other, and goes back to the device as soon as
 * it is freed. A pool keeps its settings, and counts its bytes and those that an H200 would have
 * reserved for them, which it gives back down to the threshold when memory is freed (there: when
 * the program next waits). The runtime and the driver number attributes alike. */
#ifndef ASSAY_SIM_EXEC_POOL_H
#define ASSAY_SIM_EXEC_POOL_H

#include "sim/exec/allocate.h"
#include "sim/exec/stream.h"

#include <stddef.h>

typedef struct exec_pool exec_pool;

/* The device's own, which cannot be destroyed, and the one that it allocates from. */
exec_pool *exec_pool_default(void);
exec_pool *exec_pool_current(void);
exec_error exec_pool_set_current(exec_pool *pool);

/* cudaMemPoolProps, CUmemPoolProps */
typedef struct exec_pool_properties {
    int type, handle_types;
    exec_location place;
    void *windows;
    size_t most_bytes; /* 0: no limit of its own */
    unsigned char reserved[56];
} exec_pool_properties;

exec_error exec_pool_create(exec_pool **pool, const exec_pool_properties *properties);
/* Its memory stays until it is freed. */
exec_error exec_pool_destroy(exec_pool *pool);
exec_error exec_pool_trim(exec_pool *pool, size_t bytes); /* to so many, or those in use */

/* The first three attributes are switches, of type int; the others sizes, of 64 bits. */
exec_error exec_pool_get(exec_pool *pool, int attribute, void *value);
exec_error exec_pool_set(exec_pool *pool, int attribute, const void *value);

/* cudaMemAccessDesc, CUmemAccessDesc */
typedef struct exec_pool_access {
    exec_location place;
    int flags; /* 3: the device may read and write */
} exec_pool_access;

exec_error exec_pool_set_access(exec_pool *pool, const exec_pool_access *access, size_t n);
/* Whether a place and a type of memory (CUDA 13) mean the device's pools. EXEC_INVALID_VALUE;
 * EXEC_NOT_SUPPORTED with a line: the host's, or managed memory's. */
exec_error exec_pool_at(const exec_location *place, int type);
exec_error exec_pool_get_access(exec_pool *pool, const exec_location *place, int *flags);

/* In a captured stream a node; nothing for no bytes. */
exec_error exec_pool_allocate(exec_pool *pool, void **memory, size_t bytes, void *stream);
/* The pool of an allocation; NULL: it is of none. */
exec_pool *exec_pool_of(const void *memory);
void exec_pool_freed(const void *memory, size_t bytes); /* of any memory */

#endif
