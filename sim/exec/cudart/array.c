/* Arrays, and copies of rows or runs of bytes with them; cudaMemcpy3D is in copy.c. */
#include "sim/exec/levels.h"

#include "sim/exec/cudart/cudart.h"

EXPORT exec_error cudaMallocArray(void **handle, const exec_format *f, size_t width, size_t rows,
                                  unsigned flags) {
    EXEC_CALL(exec_array_make(handle, f, (size3){width, rows, 0}, flags));
}

EXPORT exec_error cudaMalloc3DArray(void **handle, const exec_format *f, size3 size,
                                    unsigned flags) {
    EXEC_CALL(exec_array_make(handle, f, size, flags));
}

EXPORT exec_error cudaFreeArray(void *handle) {
    EXEC_CALL(handle != NULL ? exec_array_free(handle) : EXEC_SUCCESS);
}

static exec_error tell(exec_format *f, size3 *size, unsigned *flags, const void *handle) {
    const exec_array *a = exec_array_of(handle);
    if (a == NULL)
        return EXEC_INVALID_VALUE;
    if (f != NULL)
        *f = a->format;
    if (size != NULL)
        *size = a->size;
    if (flags != NULL)
        *flags = a->flags;
    return EXEC_SUCCESS;
}

EXPORT exec_error cudaArrayGetInfo(exec_format *f, size3 *size, unsigned *flags, void *handle) {
    EXEC_CALL(tell(f, size, flags, handle));
}

EXPORT exec_error cudaGetChannelDesc(exec_format *f, const void *handle) {
    EXEC_CALL(f != NULL ? tell(f, NULL, NULL, handle) : EXEC_INVALID_VALUE);
}

EXPORT exec_format cudaCreateChannelDesc(int x, int y, int z, int w, int kind) {
    return (exec_format){{x, y, z, w}, kind};
}

/* Of arrays whose memory comes later, that are sparse, or that have planes of several formats. None
 * is made here, and CUDA refuses the others so. */
EXPORT exec_error cudaArrayGetMemoryRequirements(void *requirements, void *handle, int device) {
    (void)requirements, (void)handle, (void)device;
    EXEC_CALL(EXEC_INVALID_VALUE);
}
EXPORT exec_error cudaArrayGetSparseProperties(void *properties, void *handle) {
    (void)properties, (void)handle;
    EXEC_CALL(EXEC_INVALID_VALUE);
}
EXPORT exec_error cudaArrayGetPlane(void **plane, void *handle, unsigned i) {
    (void)plane, (void)handle, (void)i;
    EXEC_CALL(EXEC_INVALID_VALUE);
}

/* ---- with levels ---- */

EXPORT exec_error cudaMallocMipmappedArray(void **handle, const exec_format *f, size3 size,
                                           unsigned n, unsigned flags) {
    EXEC_CALL(exec_levels_make(handle, f, size, n, flags));
}

EXPORT exec_error cudaFreeMipmappedArray(void *handle) {
    EXEC_CALL(handle != NULL ? exec_levels_free(handle) : EXEC_SUCCESS);
}

static exec_error level(void **array, const void *handle, unsigned i) {
    const exec_levels *l = exec_levels_of(handle);
    if (array == NULL || l == NULL || i >= l->n)
        return EXEC_INVALID_VALUE;
    *array = l->level[i];
    return EXEC_SUCCESS;
}

EXPORT exec_error cudaGetMipmappedArrayLevel(void **array, const void *handle, unsigned i) {
    EXEC_CALL(level(array, handle, i));
}
EXPORT exec_error cudaMipmappedArrayGetMemoryRequirements(void *requirements, void *handle,
                                                          int device) {
    (void)requirements, (void)handle, (void)device;
    EXEC_CALL(EXEC_INVALID_VALUE);
}
EXPORT exec_error cudaMipmappedArrayGetSparseProperties(void *properties, void *handle) {
    (void)properties, (void)handle;
    EXEC_CALL(EXEC_INVALID_VALUE);
}

/* ---- copies of rows ---- */

static exec_error copy(exec_block *b, int direction, void *stream, bool now) {
    exec_stream *s;
    const exec_error error = exec_stream_of(stream, &s);
    return error == EXEC_SUCCESS ? exec_copy(b, direction, s, now) : error;
}

static exec_error copy_in(void *to, size_t x, size_t y, const void *from, size_t pitch,
                          size_t width, size_t rows, int direction, void *stream, bool now) {
    exec_block b = {.from = from,
                    .width = width,
                    .rows = rows,
                    .planes = 1,
                    .from_pitch = pitch,
                    .from_slice = pitch * rows};
    const exec_error error = exec_array_part(to, (position){x, y, 0}, (size3){width, rows, 1},
                                             (char **)&b.to, &b.to_pitch, &b.to_slice);
    return error == EXEC_SUCCESS ? copy(&b, direction, stream, now) : error;
}

static exec_error copy_out(void *to, size_t pitch, const void *from, size_t x, size_t y,
                           size_t width, size_t rows, int direction, void *stream, bool now) {
    exec_block b = {.to = to,
                    .width = width,
                    .rows = rows,
                    .planes = 1,
                    .to_pitch = pitch,
                    .to_slice = pitch * rows};
    char *memory;
    const exec_error error = exec_array_part(from, (position){x, y, 0}, (size3){width, rows, 1},
                                             &memory, &b.from_pitch, &b.from_slice);
    b.from = memory;
    return error == EXEC_SUCCESS ? copy(&b, direction, stream, now) : error;
}

EXPORT exec_error cudaMemcpy2DToArray(void *to, size_t x, size_t y, const void *from, size_t pitch,
                                      size_t width, size_t rows, int direction) {
    EXEC_CALL(copy_in(to, x, y, from, pitch, width, rows, direction, NULL, true));
}
SAME_AS(cudaMemcpy2DToArray_ptds, cudaMemcpy2DToArray);

EXPORT exec_error cudaMemcpy2DToArrayAsync(void *to, size_t x, size_t y, const void *from,
                                           size_t pitch, size_t width, size_t rows, int direction,
                                           void *stream) {
    EXEC_CALL(copy_in(to, x, y, from, pitch, width, rows, direction, stream, false));
}
SAME_AS(cudaMemcpy2DToArrayAsync_ptsz, cudaMemcpy2DToArrayAsync);

EXPORT exec_error cudaMemcpy2DFromArray(void *to, size_t pitch, const void *from, size_t x,
                                        size_t y, size_t width, size_t rows, int direction) {
    EXEC_CALL(copy_out(to, pitch, from, x, y, width, rows, direction, NULL, true));
}
SAME_AS(cudaMemcpy2DFromArray_ptds, cudaMemcpy2DFromArray);

EXPORT exec_error cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, const void *from, size_t x,
                                             size_t y, size_t width, size_t rows, int direction,
                                             void *stream) {
    EXEC_CALL(copy_out(to, pitch, from, x, y, width, rows, direction, stream, false));
}
SAME_AS(cudaMemcpy2DFromArrayAsync_ptsz, cudaMemcpy2DFromArrayAsync);

static exec_error copy_between(void *to, size_t to_x, size_t to_y, const void *from, size_t from_x,
                               size_t from_y, size_t width, size_t rows, int direction) {
    exec_block b = {.width = width, .rows = rows, .planes = 1};
    char *memory = NULL;
    const size3 size = {width, rows, 1};
    exec_error error = exec_array_part(from, (position){from_x, from_y, 0}, size, &memory,
                                       &b.from_pitch, &b.from_slice);
    b.from = memory;
    if (error == EXEC_SUCCESS)
        error = exec_array_part(to, (position){to_x, to_y, 0}, size, (char **)&b.to, &b.to_pitch,
                                &b.to_slice);
    return error == EXEC_SUCCESS ? copy(&b, direction, NULL, true) : error;
}

EXPORT exec_error cudaMemcpy2DArrayToArray(void *to, size_t to_x, size_t to_y, const void *from,
                                           size_t from_x, size_t from_y, size_t width, size_t rows,
                                           int direction) {
    EXEC_CALL(copy_between(to, to_x, to_y, from, from_x, from_y, width, rows, direction));
}
SAME_AS(cudaMemcpy2DArrayToArray_ptds, cudaMemcpy2DArrayToArray);

/* ---- copies of bytes, over the ends of rows ---- */

static exec_error run_in(void *to, size_t x, size_t y, const void *from, size_t bytes,
                         int direction, void *stream, bool now) {
    exec_block b = exec_bytes(NULL, from, bytes);
    const exec_error error = exec_array_run(to, x, y, bytes, (char **)&b.to);
    return error == EXEC_SUCCESS ? copy(&b, direction, stream, now) : error;
}

static exec_error run_out(void *to, const void *from, size_t x, size_t y, size_t bytes,
                          int direction, void *stream, bool now) {
    char *memory = NULL;
    const exec_error error = exec_array_run(from, x, y, bytes, &memory);
    exec_block b = exec_bytes(to, memory, bytes);
    return error == EXEC_SUCCESS ? copy(&b, direction, stream, now) : error;
}

EXPORT exec_error cudaMemcpyToArray(void *to, size_t x, size_t y, const void *from, size_t bytes,
                                    int direction) {
    EXEC_CALL(run_in(to, x, y, from, bytes, direction, NULL, true));
}
SAME_AS(cudaMemcpyToArray_ptds, cudaMemcpyToArray);

EXPORT exec_error cudaMemcpyToArrayAsync(void *to, size_t x, size_t y, const void *from,
                                         size_t bytes, int direction, void *stream) {
    EXEC_CALL(run_in(to, x, y, from, bytes, direction, stream, false));
}
SAME_AS(cudaMemcpyToArrayAsync_ptsz, cudaMemcpyToArrayAsync);

EXPORT exec_error cudaMemcpyFromArray(void *to, const void *from, size_t x, size_t y, size_t bytes,
                                      int direction) {
    EXEC_CALL(run_out(to, from, x, y, bytes, direction, NULL, true));
}
SAME_AS(cudaMemcpyFromArray_ptds, cudaMemcpyFromArray);

EXPORT exec_error cudaMemcpyFromArrayAsync(void *to, const void *from, size_t x, size_t y,
                                           size_t bytes, int direction, void *stream) {
    EXEC_CALL(run_out(to, from, x, y, bytes, direction, stream, false));
}
SAME_AS(cudaMemcpyFromArrayAsync_ptsz, cudaMemcpyFromArrayAsync);

static exec_error run_between(void *to, size_t to_x, size_t to_y, const void *from, size_t from_x,
                              size_t from_y, size_t bytes, int direction) {
    char *memory = NULL;
    const exec_error error = exec_array_run(from, from_x, from_y, bytes, &memory);
    return error == EXEC_SUCCESS ? run_in(to, to_x, to_y, memory, bytes, direction, NULL, true)
                                 : error;
}

EXPORT exec_error cudaMemcpyArrayToArray(void *to, size_t to_x, size_t to_y, const void *from,
                                         size_t from_x, size_t from_y, size_t bytes,
                                         int direction) {
    EXEC_CALL(run_between(to, to_x, to_y, from, from_x, from_y, bytes, direction));
}
SAME_AS(cudaMemcpyArrayToArray_ptds, cudaMemcpyArrayToArray);
