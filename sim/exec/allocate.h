/* Allocating and freeing as programs do it: with CUDA's errors, and lines for errors. */
#ifndef ASSAY_SIM_EXEC_ALLOCATE_H
#define ASSAY_SIM_EXEC_ALLOCATE_H

#include "sim/exec/error.h"
#include "sim/exec/memory.h"

#include <stddef.h>

exec_error exec_allocate(void **memory, size_t bytes, exec_memory_kind kind);

/* The device's memory, which other processes may have: not that of pools, nor of arrays, nor what
 * another process gave, as CUDA has it. */
exec_error exec_allocate_plain(void **memory, size_t bytes);

/* The same in rows of `width` bytes, each at a multiple of 512 bytes; *pitch is their distance. */
exec_error exec_allocate_rows(void **memory, size_t *pitch, size_t width, size_t rows);

/* Of an address that graphs have reserved; the line is in assay_error(). */
exec_error exec_allocate_again(void *reserved);

/* NULL is nothing to free. */
exec_error exec_deallocate(void *memory);

/* Memory that is made and freed otherwise, for the report. */
void exec_count_allocation(size_t bytes);
void exec_count_free(size_t bytes);

/* The free bytes of the device's memory. */
size_t exec_memory_left(void);

/* The program's own memory that it has registered. EXEC_ALREADY_REGISTERED, EXEC_NOT_REGISTERED */
exec_error exec_host_register(void *memory, size_t bytes);
exec_error exec_host_unregister(void *memory);
bool exec_host_any_registered(void);

/* cudaMemLocation, CUmemLocation */
typedef struct exec_location {
    int type, number;
} exec_location;
enum { EXEC_LOCATION_DEVICE = 1 };

typedef enum exec_place {
    EXEC_PLACE_OWN,
    EXEC_PLACE_HOST,
    EXEC_PLACE_DEVICE,
    EXEC_PLACE_MANAGED
} exec_place;

/* Where an address lies, as cudaMemoryType numbers it; EXEC_PLACE_OWN: CUDA does not know it. */
exec_place exec_place_of(const void *address);

/* The piece of memory that CUDA knows and an address lies in: an allocation, a variable, memory of
 * the host's that was registered, or reserved addresses. false: none. */
bool exec_piece_of(const void *address, void **low, size_t *bytes);

/* Whether the device may access an address; false only where reserved addresses forbid it. */
bool exec_may_access(const void *address);

/* A line for each allocation that the program has not freed. */
void exec_tell_leaks(void);

#endif
