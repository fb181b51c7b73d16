/*
 * Virtual memory management: ranges of addresses (memory.h), physical memory without an address,
 * and mappings of the one to the other. A mapping can be accessed only after access was set.
 *
 * Physical memory lives while the program holds a reference to it or it is mapped.
 */
#ifndef ASSAY_SIM_EXEC_VIRTUAL_H
#define ASSAY_SIM_EXEC_VIRTUAL_H

#include "sim/exec/error.h"
#include "sim/exec/memory.h"

#include <stddef.h>

/* EXEC_INVALID_VALUE: no whole pages, or an alignment that is no power of two; at least
 * EXEC_GRANULE is taken. `hint` may be NULL. */
exec_error exec_reserve(void **memory, size_t bytes, size_t alignment, void *hint);
/* EXEC_INVALID_VALUE: no such range, or something is mapped in it. */
exec_error exec_unreserve(void *memory, size_t bytes);

typedef struct exec_physical exec_physical;

/* With one reference. EXEC_OUT_OF_MEMORY; EXEC_INVALID_VALUE: no multiple of EXEC_GRANULE. */
exec_error exec_physical_create(exec_physical **physical, size_t bytes);
/* Drops a reference. EXEC_INVALID_VALUE: the program has none. */
exec_error exec_physical_release(exec_physical *physical);
/* What is mapped at an address, with one more reference. */
exec_error exec_physical_retain(exec_physical **physical, const void *address);

/* From the physical memory's `offset` on. EXEC_INVALID_VALUE: not all of it is reserved, or some is
 * mapped already. */
exec_error exec_map(void *memory, size_t bytes, size_t offset, exec_physical *physical);
/* Whole mappings. EXEC_INVALID_VALUE */
exec_error exec_unmap(void *memory, size_t bytes);
exec_error exec_set_access(void *memory, size_t bytes, exec_access access);

/* The mapping that holds an address. EXEC_INVALID_VALUE: none does. */
exec_error exec_mapping_of(const void *address, void **low, size_t *bytes);

/* A line for each physical memory that the program has not released. */
void exec_physical_tell_leaks(void);

#endif
