/* Copies and fills of up to three dimensions. */
#ifndef ASSAY_SIM_EXEC_COPY_H
#define ASSAY_SIM_EXEC_COPY_H

#include "sim/exec/error.h"
#include "sim/exec/stream.h"
#include "sim/exec/work.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As cudaMemcpyKind numbers them. */
typedef enum exec_direction {
    EXEC_HOST_TO_HOST,
    EXEC_HOST_TO_DEVICE,
    EXEC_DEVICE_TO_HOST,
    EXEC_DEVICE_TO_DEVICE,
    EXEC_ANY_DIRECTION, /* the addresses tell */
} exec_direction;

/* Sizes in bytes: `width` of a row, `pitch` from row to row, `slice` from plane to plane. */
typedef struct exec_block {
    void *to;
    const void *from;
    size_t width, rows, planes;
    size_t to_pitch, to_slice, from_pitch, from_slice;
} exec_block;

/* A block that is one run of bytes. */
exec_block exec_bytes(void *to, const void *from, size_t bytes);

/* `now`: it is done when the call returns. Otherwise it is when CUDA promises it: a copy to memory
 * of the program's own that is not pinned within the call, and one from there reads within the
 * call. EXEC_INVALID_DIRECTION, EXEC_INVALID_PITCH; EXEC_INVALID_VALUE with a line: outside of an
 * allocation, or an address on the wrong side. */
exec_error exec_copy(const exec_block *block, int direction, exec_stream *stream, bool now);

/* The same, but reads its source within the call, before the work that the stream has. Not while
 * the stream is captured: EXEC_CAPTURE_UNSUPPORTED. */
exec_error exec_copy_early(const exec_block *block, int direction, exec_stream *stream);

/* The work of a copy, checked, for a graph. */
exec_error exec_copy_work(const exec_block *block, int direction, exec_work **work);

/* What such a work does. EXEC_INVALID_VALUE: it is another's. */
exec_error exec_work_copies(const exec_work *work, exec_block *block, int *direction);

/* Fills rows with elements of 1, 2 or 4 bytes; `width` in elements. */
typedef struct exec_fill {
    void *to;
    uint32_t value;
    size_t element, width, rows, planes, pitch, slice;
} exec_fill;

exec_error exec_set(const exec_fill *fill, exec_stream *stream, bool now);
exec_error exec_set_work(const exec_fill *fill, exec_work **work);
exec_error exec_work_fills(const exec_work *work, exec_fill *fill);

#endif
