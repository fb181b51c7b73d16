/*
 * The memory that a program allocates with CUDA: finds the allocation of an address, for copies,
 * for pointer attributes, for leaks, and for the lines that name the nearest allocation.
 *
 * Allocations begin at multiples of 256 bytes, as CUDA promises, and are checked to the byte; no
 * slack behind them counts as theirs. Each has pages of its own and ends in the last 256 bytes of
 * them; the page before and the page behind cannot be touched. Freed memory cannot be touched
 * either and is kept for a while, so that its addresses do not belong to a new allocation at once
 * and a late access to it can be named.
 *
 * A range of reserved addresses (virtual.h) is such an allocation, too: what may be done with it
 * differs from granule to granule.
 *
 * Not for more than one host thread at a time.
 */
#ifndef ASSAY_SIM_EXEC_MEMORY_H
#define ASSAY_SIM_EXEC_MEMORY_H

#include "assay/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum exec_memory_kind { EXEC_DEVICE, EXEC_MANAGED, EXEC_PINNED } exec_memory_kind;

/* In the order of what they allow. */
typedef enum exec_access { EXEC_UNMAPPED, EXEC_NO_ACCESS, EXEC_READ, EXEC_READ_WRITE } exec_access;

/* The granularity of mappings. */
#define EXEC_GRANULE ((size_t)2 << 20)

typedef struct exec_allocation {
    char *low;
    size_t bytes;
    exec_memory_kind kind;
    uint64_t number;  /* the program's first is 1 */
    const char *call; /* "cudaMalloc"; a string that stays */
    bool freed;
    char *pages; /* that it lies in, without those before and behind */
    size_t page_bytes;
    uint64_t written;       /* when the program's last copy or fill into it was done; 0: never */
    unsigned char *granule; /* exec_access of each granule of a range; NULL: this is none */
    const void *graph;      /* whose nodes allocate it; NULL: no graph's do */
    bool reserved;          /* for graphs, by so many holders; without memory it counts as freed */
    size_t holders;
    bool plain;    /* of cudaMalloc and its like, so that other processes may have it */
    bool promised; /* it will have memory when the work that streams have now is done */
} exec_allocation;

/* The simulated device's memory: 16 GiB. */
#define EXEC_DEVICE_BYTES ((size_t)16 << 30)

/* Filled with 0xff: NaN in every floating-point type. `call`: the function that the program called.
 * ASSAY_ERR_MEMORY: the device or the host has not so much left. */
assay_status exec_memory_allocate(size_t bytes, exec_memory_kind kind, const char *call,
                                  void **memory) ASSAY_MUST_CHECK;

/* The allocation that holds the address is plain. */
void exec_memory_be_plain(const void *address);

/* ASSAY_ERR_USAGE: `memory` is not the beginning of an allocation, or it is freed already; the line
 * says which. */
assay_status exec_memory_free(void *memory) ASSAY_MUST_CHECK;

/* The device's memory that has no address of its own. ASSAY_ERR_MEMORY: there is not so much left.
 */
assay_status exec_memory_claim(size_t bytes, const char *call) ASSAY_MUST_CHECK;
void exec_memory_unclaim(size_t bytes);

/* Addresses without memory, at a multiple of `alignment`, and at `hint` if they are free: whole
 * pages, and an alignment of at least EXEC_GRANULE. ASSAY_ERR_MEMORY */
assay_status exec_memory_add_range(size_t bytes, size_t alignment, void *hint, const char *call,
                                   void **memory) ASSAY_MUST_CHECK;
void exec_memory_remove_range(exec_allocation *range);

/* The range that holds all of these bytes; NULL: none does. */
exec_allocation *exec_memory_range(const void *address, size_t bytes);

/* An address for graphs, at which there is no memory yet. It stays as long as it has holders, of
 * which there are none at first; memory that is there when the last one goes stays until it is
 * freed. ASSAY_ERR_MEMORY */
assay_status exec_memory_reserve(size_t bytes, const void *graph, const char *call,
                                 void **memory) ASSAY_MUST_CHECK;
void exec_memory_hold(const void *memory);
void exec_memory_drop(const void *memory);
size_t exec_memory_holders(const void *memory);
bool exec_memory_is_reserved(const void *address);
bool exec_memory_is_graphs(const void *memory); /* and begins there, with memory or without */

/* Gives it memory, filled with 0xff. ASSAY_ERR_USAGE: it has some; ASSAY_ERR_MEMORY */
assay_status exec_memory_revive(const void *memory) ASSAY_MUST_CHECK;
/* The bytes that are there: those of each graph in whole units. */
size_t exec_memory_of_graphs(size_t unit);

/* Marks memory of graphs; nothing for other memory. */
void exec_memory_promise(const void *memory, bool promised);
bool exec_memory_is_promised(const void *memory);

/* The allocation that holds `address` and is not freed; NULL: none does, or nothing is mapped
 * there. */
const exec_allocation *exec_memory_find(const void *address);

/* Whether `bytes` from `address` on may be copied: true when all of them lie in one allocation,
 * and, in a range, where that is allowed.
 * Also true when no byte lies in an allocation that was ever made: then they are the program's own
 * memory. Otherwise `why` gets a line: "reads 40 bytes, 8 of them behind allocation 3 (cudaMalloc,
 * 32 bytes)". */
enum { EXEC_MEMORY_LINE = 256 };
bool exec_memory_check(const void *address, size_t bytes, bool writes, char why[EXEC_MEMORY_LINE]);

/* The same for work that is done later: memory of graphs need not be there yet. */
bool exec_memory_check_later(const void *address, size_t bytes, bool writes,
                             char why[EXEC_MEMORY_LINE]);

/* A copy or fill into the allocation that holds `address`, if any does, was done. */
void exec_memory_written(const void *address);

/* Where an address lies that nothing may touch: "8 bytes behind allocation 3 (cudaMalloc, 32
 * bytes)". false: near to no allocation. */
bool exec_memory_describe(const void *address, char where[EXEC_MEMORY_LINE]);

/* Whether something was written behind an allocation, in the bytes up to its last page's end:
 * `what` gets a line on the first that is found, which is then as if it had not been. */
bool exec_memory_overrun(char what[EXEC_MEMORY_LINE]);

/* Whether pinned or managed memory was ever allocated. */
bool exec_memory_any_host(void);

/* The i-th allocation that is not freed, in the order of addresses; NULL behind the last. */
const exec_allocation *exec_memory_live(size_t i);

#ifdef __cplusplus
}
#endif

#endif
