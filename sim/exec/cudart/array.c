#include "sim/exec/cudart/array.h"

#include "sim/exec/allocate.h"
#include "sim/exec/handles.h"

#include <stdlib.h>
#include <string.h>

const array *cudart_array_of(const void *handle) {
    return exec_handle_is(handle, EXEC_HANDLE_ARRAY) ? handle : NULL;
}

bool cudart_image_format(const channel_format *f, sim_image *image) {
    uint32_t n = 0;
    while (n < 4 && f->bits[n] != 0)
        ++n;
    image->channels = n;
    image->bits = (uint32_t)f->bits[0];
    image->format = (sim_channel)f->kind;
    for (uint32_t i = 0; i < n; ++i)
        if (f->bits[i] != f->bits[0])
            return false;
    const int bits = f->bits[0], least = f->kind == SIM_CHANNEL_FLOAT ? 16 : 8;
    return (n == 1 || n == 2 || n == 4) && bits >= least &&
           (bits == 8 || bits == 16 || bits == 32) && f->kind >= 0 && f->kind < NO_CHANNEL;
}

static uint32_t at_least_one(size_t n) {
    return n == 0 ? 1 : (uint32_t)n;
}

static exec_error make(array *a) {
    const bool layered = (a->flags & ARRAY_LAYERED) != 0;
    sim_image *m = &a->image;
    if ((a->flags & ~(unsigned)(ARRAY_LAYERED | ARRAY_SURFACE | ARRAY_GATHER)) != 0) {
        exec_problem(EXEC_PROBLEM_NOT_SIMULATED, "%s with the flags %#x is not simulated",
                     exec_call_name(), a->flags);
        return EXEC_NOT_SUPPORTED;
    }
    if (!cudart_image_format(&a->format, m) || a->size.width == 0 || a->size.width > INT32_MAX ||
        a->size.rows > INT32_MAX || a->size.planes > INT32_MAX ||
        (layered && a->size.planes == 0) || (!layered && a->size.rows == 0 && a->size.planes != 0))
        return EXEC_INVALID_VALUE;
    const uint32_t rows = at_least_one(a->size.rows), planes = at_least_one(a->size.planes);
    m->layered = layered;
    m->dimensions = a->size.rows == 0 ? 1 : layered || a->size.planes == 0 ? 2 : 3;
    m->size[0] = (uint32_t)a->size.width;
    m->size[1] = m->dimensions > 1 ? rows : planes;
    m->size[2] = planes;
    m->pitch = a->size.width * cudart_element(m);
    m->slice = m->pitch * rows;
    return exec_allocate((void **)&m->memory, m->slice * planes, EXEC_DEVICE);
}

static exec_error allocate(void **handle, const channel_format *f, size3 size, unsigned flags) {
    if (handle == NULL || f == NULL)
        return EXEC_INVALID_VALUE;
    array *a = calloc(1, sizeof *a);
    if (a == NULL)
        return EXEC_OUT_OF_MEMORY;
    *a = (array){.format = *f, .size = size, .flags = flags};
    exec_error error = make(a);
    if (error == EXEC_SUCCESS) {
        error = exec_error_of(exec_handle_add(a, EXEC_HANDLE_ARRAY));
        if (error != EXEC_SUCCESS)
            (void)exec_deallocate(a->image.memory);
    }
    if (error == EXEC_SUCCESS)
        *handle = a;
    else
        free(a);
    return error;
}

EXPORT exec_error cudaMallocArray(void **handle, const channel_format *f, size_t width, size_t rows,
                                  unsigned flags) {
    EXEC_CALL(allocate(handle, f, (size3){width, rows, 0}, flags));
}

EXPORT exec_error cudaMalloc3DArray(void **handle, const channel_format *f, size3 size,
                                    unsigned flags) {
    EXEC_CALL(allocate(handle, f, size, flags));
}

static exec_error release(void *handle) {
    if (handle == NULL)
        return EXEC_SUCCESS;
    if (cudart_array_of(handle) == NULL)
        return EXEC_INVALID_VALUE;
    array *a = handle;
    exec_streams_synchronize();
    exec_handle_remove(a);
    const exec_error error = exec_deallocate(a->image.memory);
    free(a);
    return error;
}

EXPORT exec_error cudaFreeArray(void *handle) {
    EXEC_CALL(release(handle));
}

static exec_error tell(channel_format *f, size3 *size, unsigned *flags, const void *handle) {
    const array *a = cudart_array_of(handle);
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

EXPORT exec_error cudaArrayGetInfo(channel_format *f, size3 *size, unsigned *flags, void *handle) {
    EXEC_CALL(tell(f, size, flags, handle));
}

EXPORT exec_error cudaGetChannelDesc(channel_format *f, const void *handle) {
    EXEC_CALL(f != NULL ? tell(f, NULL, NULL, handle) : EXEC_INVALID_VALUE);
}

EXPORT channel_format cudaCreateChannelDesc(int x, int y, int z, int w, int kind) {
    return (channel_format){{x, y, z, w}, kind};
}

/* ---- copies ---- */

exec_error cudart_array_part(const void *handle, position at, size3 size, char **memory,
                             size_t *pitch, size_t *slice) {
    const array *a = cudart_array_of(handle);
    if (a == NULL)
        return EXEC_INVALID_VALUE;
    const sim_image *m = &a->image;
    const size_t rows = at_least_one(a->size.rows), planes = at_least_one(a->size.planes);
    if (at.x > m->pitch || size.width > m->pitch - at.x || at.y > rows || size.rows > rows - at.y ||
        at.z > planes || size.planes > planes - at.z) {
        exec_problem(EXEC_PROBLEM_COPY,
                     "%s: the copy does not lie within its array of %zu x %zu x %zu",
                     exec_call_name(), a->size.width, a->size.rows, a->size.planes);
        return EXEC_INVALID_VALUE;
    }
    *memory = m->memory + at.z * m->slice + at.y * m->pitch + at.x;
    *pitch = m->pitch;
    *slice = m->slice;
    return EXEC_SUCCESS;
}

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
    const exec_error error = cudart_array_part(to, (position){x, y, 0}, (size3){width, rows, 1},
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
    const exec_error error = cudart_array_part(from, (position){x, y, 0}, (size3){width, rows, 1},
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
