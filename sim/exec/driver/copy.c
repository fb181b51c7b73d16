/* Copies and fills. */
#include "sim/exec/copy.h"

#include "sim/exec/array.h"
#include "sim/exec/driver/driver.h"

/* ---- copies ---- */

static exec_error copy(void *to, const void *from, size_t bytes, int direction, void *stream,
                       bool now) {
    exec_stream *s;
    const exec_block b = exec_bytes(to, from, bytes);
    const exec_error error = exec_stream_of(stream, &s);
    return error == EXEC_SUCCESS ? exec_copy(&b, direction, s, now) : error;
}

EXPORT exec_error cuMemcpy(device_pointer to, device_pointer from, size_t bytes) {
    DRIVER_CALL(copy(at(to), at(from), bytes, EXEC_ANY_DIRECTION, NULL, true));
}
SAME_AS(cuMemcpy_ptds, cuMemcpy);
EXPORT exec_error cuMemcpyAsync(device_pointer to, device_pointer from, size_t bytes,
                                void *stream) {
    DRIVER_CALL(copy(at(to), at(from), bytes, EXEC_ANY_DIRECTION, stream, false));
}
SAME_AS(cuMemcpyAsync_ptsz, cuMemcpyAsync);
EXPORT exec_error cuMemcpyHtoD_v2(device_pointer to, const void *from, size_t bytes) {
    DRIVER_CALL(copy(at(to), from, bytes, EXEC_HOST_TO_DEVICE, NULL, true));
}
SAME_AS(cuMemcpyHtoD_v2_ptds, cuMemcpyHtoD_v2);
EXPORT exec_error cuMemcpyHtoDAsync_v2(device_pointer to, const void *from, size_t bytes,
                                       void *stream) {
    DRIVER_CALL(copy(at(to), from, bytes, EXEC_HOST_TO_DEVICE, stream, false));
}
SAME_AS(cuMemcpyHtoDAsync_v2_ptsz, cuMemcpyHtoDAsync_v2);
EXPORT exec_error cuMemcpyDtoH_v2(void *to, device_pointer from, size_t bytes) {
    DRIVER_CALL(copy(to, at(from), bytes, EXEC_DEVICE_TO_HOST, NULL, true));
}
SAME_AS(cuMemcpyDtoH_v2_ptds, cuMemcpyDtoH_v2);
EXPORT exec_error cuMemcpyDtoHAsync_v2(void *to, device_pointer from, size_t bytes, void *stream) {
    DRIVER_CALL(copy(to, at(from), bytes, EXEC_DEVICE_TO_HOST, stream, false));
}
SAME_AS(cuMemcpyDtoHAsync_v2_ptsz, cuMemcpyDtoHAsync_v2);
EXPORT exec_error cuMemcpyDtoD_v2(device_pointer to, device_pointer from, size_t bytes) {
    DRIVER_CALL(copy(at(to), at(from), bytes, EXEC_DEVICE_TO_DEVICE, NULL, true));
}
SAME_AS(cuMemcpyDtoD_v2_ptds, cuMemcpyDtoD_v2);
EXPORT exec_error cuMemcpyDtoDAsync_v2(device_pointer to, device_pointer from, size_t bytes,
                                       void *stream) {
    DRIVER_CALL(copy(at(to), at(from), bytes, EXEC_DEVICE_TO_DEVICE, stream, false));
}
SAME_AS(cuMemcpyDtoDAsync_v2_ptsz, cuMemcpyDtoDAsync_v2);

/* ---- rows and planes ---- */

enum { HOST = 1, DEVICE, ARRAY, UNIFIED };

/* One side of CUDA_MEMCPY2D, of CUDA_MEMCPY3D, and of CUDA_MEMCPY3D_PEER. */
typedef struct side2 {
    size_t x, y; /* x in bytes */
    int type;
    void *host;
    device_pointer device;
    void *array;
    size_t pitch;
} side2;

typedef struct side3 {
    size_t x, y, z, level;
    int type;
    void *host;
    device_pointer device;
    void *array, *context;
    size_t pitch, rows;
} side3;

typedef struct copy2 {
    side2 from, to;
    size_t width, rows;
} copy2;

typedef struct copy3 {
    side3 from, to;
    size_t width, rows, planes;
} copy3;

/* Where a side begins, and its distances; those that are 0 follow from the size. */
static exec_error place(const side3 *s, const copy3 *c, void **begin, size_t *pitch,
                        size_t *slice) {
    if (s->type == ARRAY) {
        char *memory;
        const exec_error error =
            exec_array_part(s->array, (exec_position){s->x, s->y, s->z},
                            (exec_size3){c->width, c->rows, c->planes}, &memory, pitch, slice);
        *begin = memory;
        return error;
    }
    if (s->type != HOST && s->type != DEVICE && s->type != UNIFIED)
        return EXEC_INVALID_VALUE;
    *pitch = s->pitch > 0 ? s->pitch : s->x + c->width;
    const size_t rows = s->rows > 0 ? s->rows : s->y + c->rows;
    if (*pitch > INT32_MAX || *pitch < s->x + c->width || rows < s->y + c->rows)
        return EXEC_INVALID_VALUE;
    char *memory = s->type == HOST ? s->host : at(s->device);
    if (memory == NULL)
        return EXEC_INVALID_VALUE;
    *slice = *pitch * rows;
    *begin = memory + s->z * *slice + s->y * *pitch + s->x;
    return EXEC_SUCCESS;
}

static int direction_of(const copy3 *c) {
    if (c->from.type == UNIFIED || c->to.type == UNIFIED)
        return EXEC_ANY_DIRECTION;
    if (c->from.type == HOST)
        return c->to.type == HOST ? EXEC_HOST_TO_HOST : EXEC_HOST_TO_DEVICE;
    return c->to.type == HOST ? EXEC_DEVICE_TO_HOST : EXEC_DEVICE_TO_DEVICE;
}

static exec_error copy_planes(const copy3 *c, void *stream, bool now) {
    exec_stream *s;
    void *from = NULL;
    if (c == NULL)
        return EXEC_INVALID_VALUE;
    exec_block b = {.width = c->width, .rows = c->rows, .planes = c->planes};
    if (b.width == 0 || b.rows == 0 || b.planes == 0)
        return EXEC_SUCCESS;
    exec_error error = place(&c->from, c, &from, &b.from_pitch, &b.from_slice);
    b.from = from;
    if (error == EXEC_SUCCESS)
        error = place(&c->to, c, &b.to, &b.to_pitch, &b.to_slice);
    if (error == EXEC_SUCCESS)
        error = exec_stream_of(stream, &s);
    return error == EXEC_SUCCESS ? exec_copy(&b, direction_of(c), s, now) : error;
}

static side3 plane_of(const side2 *s) {
    return (side3){s->x, s->y, 0, 0, s->type, s->host, s->device, s->array, NULL, s->pitch, 0};
}

static exec_error copy_rows(const copy2 *c, void *stream, bool now) {
    if (c == NULL)
        return EXEC_INVALID_VALUE;
    const copy3 planes = {plane_of(&c->from), plane_of(&c->to), c->width, c->rows, 1};
    return copy_planes(&planes, stream, now);
}

EXPORT exec_error cuMemcpy2D_v2(const copy2 *c) {
    DRIVER_CALL(copy_rows(c, NULL, true));
}
SAME_AS(cuMemcpy2D_v2_ptds, cuMemcpy2D_v2);
/* Any pitch will do here. */
EXPORT exec_error cuMemcpy2DUnaligned_v2(const copy2 *c) {
    DRIVER_CALL(copy_rows(c, NULL, true));
}
SAME_AS(cuMemcpy2DUnaligned_v2_ptds, cuMemcpy2DUnaligned_v2);
EXPORT exec_error cuMemcpy2DAsync_v2(const copy2 *c, void *stream) {
    DRIVER_CALL(copy_rows(c, stream, false));
}
SAME_AS(cuMemcpy2DAsync_v2_ptsz, cuMemcpy2DAsync_v2);
EXPORT exec_error cuMemcpy3D_v2(const copy3 *c) {
    DRIVER_CALL(copy_planes(c, NULL, true));
}
SAME_AS(cuMemcpy3D_v2_ptds, cuMemcpy3D_v2);
EXPORT exec_error cuMemcpy3DAsync_v2(const copy3 *c, void *stream) {
    DRIVER_CALL(copy_planes(c, stream, false));
}
SAME_AS(cuMemcpy3DAsync_v2_ptsz, cuMemcpy3DAsync_v2);

/* ---- between contexts: there is one, and NULL is the current one ---- */

static exec_error check_contexts(const void *to, const void *from) {
    return (to == NULL || driver_is_context(to)) && (from == NULL || driver_is_context(from))
               ? EXEC_SUCCESS
               : EXEC_INVALID_CONTEXT;
}

static exec_error copy_peer(device_pointer to, const void *to_context, device_pointer from,
                            const void *from_context, size_t bytes, void *stream, bool now) {
    const exec_error error = check_contexts(to_context, from_context);
    return error == EXEC_SUCCESS ? copy(at(to), at(from), bytes, EXEC_DEVICE_TO_DEVICE, stream, now)
                                 : error;
}

EXPORT exec_error cuMemcpyPeer(device_pointer to, void *to_context, device_pointer from,
                               void *from_context, size_t bytes) {
    DRIVER_CALL(copy_peer(to, to_context, from, from_context, bytes, NULL, true));
}
SAME_AS(cuMemcpyPeer_ptds, cuMemcpyPeer);
EXPORT exec_error cuMemcpyPeerAsync(device_pointer to, void *to_context, device_pointer from,
                                    void *from_context, size_t bytes, void *stream) {
    DRIVER_CALL(copy_peer(to, to_context, from, from_context, bytes, stream, false));
}
SAME_AS(cuMemcpyPeerAsync_ptsz, cuMemcpyPeerAsync);

static exec_error copy_peer_planes(const copy3 *c, void *stream, bool now) {
    const exec_error error =
        c != NULL ? check_contexts(c->to.context, c->from.context) : EXEC_INVALID_VALUE;
    return error == EXEC_SUCCESS ? copy_planes(c, stream, now) : error;
}

EXPORT exec_error cuMemcpy3DPeer(const copy3 *c) {
    DRIVER_CALL(copy_peer_planes(c, NULL, true));
}
SAME_AS(cuMemcpy3DPeer_ptds, cuMemcpy3DPeer);
EXPORT exec_error cuMemcpy3DPeerAsync(const copy3 *c, void *stream) {
    DRIVER_CALL(copy_peer_planes(c, stream, false));
}
SAME_AS(cuMemcpy3DPeerAsync_ptsz, cuMemcpy3DPeerAsync);

/* ---- fills ---- */

static exec_error fill_rows(device_pointer to, size_t pitch, uint32_t value, size_t element,
                            size_t n, size_t rows, void *stream, bool now) {
    exec_stream *s;
    const exec_fill f = {at(to), value, element, n, rows, 1, pitch, pitch * rows};
    if (to % element != 0 || (rows > 1 && pitch % element != 0))
        return EXEC_INVALID_VALUE;
    const exec_error error = exec_stream_of(stream, &s);
    return error == EXEC_SUCCESS ? exec_set(&f, s, now) : error;
}

static exec_error fill(device_pointer to, uint32_t value, size_t element, size_t n, void *stream,
                       bool now) {
    return fill_rows(to, n * element, value, element, n, 1, stream, now);
}

EXPORT exec_error cuMemsetD8_v2(device_pointer to, unsigned char value, size_t n) {
    DRIVER_CALL(fill(to, value, 1, n, NULL, true));
}
SAME_AS(cuMemsetD8_v2_ptds, cuMemsetD8_v2);
EXPORT exec_error cuMemsetD16_v2(device_pointer to, unsigned short value, size_t n) {
    DRIVER_CALL(fill(to, value, 2, n, NULL, true));
}
SAME_AS(cuMemsetD16_v2_ptds, cuMemsetD16_v2);
EXPORT exec_error cuMemsetD32_v2(device_pointer to, unsigned value, size_t n) {
    DRIVER_CALL(fill(to, value, 4, n, NULL, true));
}
SAME_AS(cuMemsetD32_v2_ptds, cuMemsetD32_v2);
EXPORT exec_error cuMemsetD8Async(device_pointer to, unsigned char value, size_t n, void *stream) {
    DRIVER_CALL(fill(to, value, 1, n, stream, false));
}
SAME_AS(cuMemsetD8Async_ptsz, cuMemsetD8Async);
EXPORT exec_error cuMemsetD16Async(device_pointer to, unsigned short value, size_t n,
                                   void *stream) {
    DRIVER_CALL(fill(to, value, 2, n, stream, false));
}
SAME_AS(cuMemsetD16Async_ptsz, cuMemsetD16Async);
EXPORT exec_error cuMemsetD32Async(device_pointer to, unsigned value, size_t n, void *stream) {
    DRIVER_CALL(fill(to, value, 4, n, stream, false));
}
SAME_AS(cuMemsetD32Async_ptsz, cuMemsetD32Async);
EXPORT exec_error cuMemsetD2D8_v2(device_pointer to, size_t pitch, unsigned char value, size_t n,
                                  size_t rows) {
    DRIVER_CALL(fill_rows(to, pitch, value, 1, n, rows, NULL, true));
}
SAME_AS(cuMemsetD2D8_v2_ptds, cuMemsetD2D8_v2);
EXPORT exec_error cuMemsetD2D8Async(device_pointer to, size_t pitch, unsigned char value, size_t n,
                                    size_t rows, void *stream) {
    DRIVER_CALL(fill_rows(to, pitch, value, 1, n, rows, stream, false));
}
SAME_AS(cuMemsetD2D8Async_ptsz, cuMemsetD2D8Async);
EXPORT exec_error cuMemsetD2D16_v2(device_pointer to, size_t pitch, unsigned short value, size_t n,
                                   size_t rows) {
    DRIVER_CALL(fill_rows(to, pitch, value, 2, n, rows, NULL, true));
}
SAME_AS(cuMemsetD2D16_v2_ptds, cuMemsetD2D16_v2);
EXPORT exec_error cuMemsetD2D16Async(device_pointer to, size_t pitch, unsigned short value,
                                     size_t n, size_t rows, void *stream) {
    DRIVER_CALL(fill_rows(to, pitch, value, 2, n, rows, stream, false));
}
SAME_AS(cuMemsetD2D16Async_ptsz, cuMemsetD2D16Async);
EXPORT exec_error cuMemsetD2D32_v2(device_pointer to, size_t pitch, unsigned value, size_t n,
                                   size_t rows) {
    DRIVER_CALL(fill_rows(to, pitch, value, 4, n, rows, NULL, true));
}
SAME_AS(cuMemsetD2D32_v2_ptds, cuMemsetD2D32_v2);
EXPORT exec_error cuMemsetD2D32Async(device_pointer to, size_t pitch, unsigned value, size_t n,
                                     size_t rows, void *stream) {
    DRIVER_CALL(fill_rows(to, pitch, value, 4, n, rows, stream, false));
}
SAME_AS(cuMemsetD2D32Async_ptsz, cuMemsetD2D32Async);
