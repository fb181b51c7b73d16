/* Loops over many elements on all processors of the host. */
#ifndef ASSAY_PARALLEL_H
#define ASSAY_PARALLEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Calls `body` for disjoint pieces [first, last) that make up [0, count), from several threads at
 * once where there is enough to do, and returns when all are done. The work of `body` on an index
 * must not depend on the piece that it comes in.
 */
void assay_parallel(int64_t count, void (*body)(void *context, int64_t first, int64_t last),
                    void *context);

/* The same for `count` indices that are each worth a thread. */
void assay_parallel_pieces(int64_t count, void (*body)(void *context, int64_t first, int64_t last),
                           void *context);

#ifdef __cplusplus
}
#endif

#endif
