/* Arrays, and copies of bytes with those of one dimension; the others are in copy.c. */
#include "sim/exec/driver/array.h"

#include "sim/exec/copy.h"
#include "sim/exec/driver/driver.h"
#include "sim/exec/levels.h"
#include "sim/exec/work.h"

/* ---- formats ---- */

enum { UNSIGNED = 0x1, SIGNED = 0x8, HALF = 0x10, SINGLE = 0x20, CHANNELS = 4 };

exec_error driver_format_in(uint32_t format, uint32_t channels, exec_format *to) {
    int bits;
    *to = (exec_format){.kind = SIM_CHANNEL_FLOAT};
    switch (format) {
    case UNSIGNED:
    case UNSIGNED + 1:
    case UNSIGNED + 2:
        to->kind = SIM_CHANNEL_UNSIGNED;
        bits = 8 << (format - UNSIGNED);
        break;
    case SIGNED:
    case SIGNED + 1:
    case SIGNED + 2:
        to->kind = SIM_CHANNEL_SIGNED;
        bits = 8 << (format - SIGNED);
        break;
    case HALF:
        bits = 16;
        break;
    case SINGLE:
        bits = 32;
        break;
    default:
        exec_problem(EXEC_PROBLEM_NOT_SIMULATED, "%s with the format %#x is not simulated",
                     exec_call_name(), format);
        return EXEC_NOT_SUPPORTED;
    }
    if (channels == 0 || channels > CHANNELS)
        return EXEC_INVALID_VALUE;
    for (uint32_t i = 0; i < channels; ++i)
        to->bits[i] = bits;
    return EXEC_SUCCESS;
}

void driver_format_out(const exec_format *from, uint32_t *format, uint32_t *channels) {
    const int bits = from->bits[0];
    const uint32_t size = bits == 8 ? 0 : bits == 16 ? 1 : 2;
    *channels = 0;
    while (*channels < CHANNELS && from->bits[*channels] != 0)
        ++*channels;
    *format = from->kind == SIM_CHANNEL_SIGNED     ? SIGNED + size
              : from->kind == SIM_CHANNEL_UNSIGNED ? UNSIGNED + size
              : bits == 16                         ? HALF
                                                   : SINGLE;
}

/* ---- arrays ---- */

typedef struct descriptor {
    size_t width, rows;
    uint32_t format, channels;
} descriptor;

typedef struct descriptor3 {
    size_t width, rows, planes;
    uint32_t format, channels, flags;
} descriptor3;

static exec_error create(void **handle, exec_size3 size, uint32_t format, uint32_t channels,
                         unsigned flags) {
    exec_format f;
    const exec_error error = driver_format_in(format, channels, &f);
    return error == EXEC_SUCCESS ? exec_array_make(handle, &f, size, flags) : error;
}

EXPORT exec_error cuArrayCreate_v2(void **handle, const descriptor *d) {
    DRIVER_CALL(d != NULL
                    ? create(handle, (exec_size3){d->width, d->rows, 0}, d->format, d->channels, 0)
                    : EXEC_INVALID_VALUE);
}
EXPORT exec_error cuArray3DCreate_v2(void **handle, const descriptor3 *d) {
    DRIVER_CALL(d != NULL ? create(handle, (exec_size3){d->width, d->rows, d->planes}, d->format,
                                   d->channels, d->flags)
                          : EXEC_INVALID_VALUE);
}
EXPORT exec_error cuArrayDestroy(void *handle) {
    DRIVER_CALL(exec_array_of(handle) != NULL ? exec_array_free(handle) : EXEC_INVALID_HANDLE);
}

static exec_error tell(descriptor3 *d, const void *handle) {
    const exec_array *a = exec_array_of(handle);
    if (a == NULL)
        return EXEC_INVALID_HANDLE;
    *d = (descriptor3){
        .width = a->size.width, .rows = a->size.rows, .planes = a->size.planes, .flags = a->flags};
    driver_format_out(&a->format, &d->format, &d->channels);
    return EXEC_SUCCESS;
}

static exec_error tell_plane(descriptor *d, const void *handle) {
    descriptor3 all;
    const exec_error error = d != NULL ? tell(&all, handle) : EXEC_INVALID_VALUE;
    if (error == EXEC_SUCCESS)
        *d = (descriptor){all.width, all.rows, all.format, all.channels};
    return error;
}

EXPORT exec_error cuArray3DGetDescriptor_v2(descriptor3 *d, void *handle) {
    DRIVER_CALL(d != NULL ? tell(d, handle) : EXEC_INVALID_VALUE);
}
EXPORT exec_error cuArrayGetDescriptor_v2(descriptor *d, void *handle) {
    DRIVER_CALL(tell_plane(d, handle));
}

/* Of arrays whose memory comes later, that are sparse, or that have planes of several formats. None
 * is made here, and CUDA refuses the others so. */
EXPORT exec_error cuArrayGetMemoryRequirements(void *requirements, void *handle, int device) {
    (void)requirements, (void)handle, (void)device;
    DRIVER_CALL(EXEC_INVALID_VALUE);
}
EXPORT exec_error cuArrayGetSparseProperties(void *properties, void *handle) {
    (void)properties, (void)handle;
    DRIVER_CALL(EXEC_INVALID_VALUE);
}
EXPORT exec_error cuArrayGetPlane(void **plane, void *handle, unsigned i) {
    (void)plane, (void)handle, (void)i;
    DRIVER_CALL(EXEC_INVALID_VALUE);
}

/* ---- with levels ---- */

static exec_error create_levels(void **handle, const descriptor3 *d, unsigned n) {
    exec_format f;
    const exec_error error =
        d != NULL ? driver_format_in(d->format, d->channels, &f) : EXEC_INVALID_VALUE;
    return error == EXEC_SUCCESS
               ? exec_levels_make(handle, &f, (exec_size3){d->width, d->rows, d->planes}, n,
                                  d->flags)
               : error;
}

EXPORT exec_error cuMipmappedArrayCreate(void **handle, const descriptor3 *d, unsigned n) {
    DRIVER_CALL(create_levels(handle, d, n));
}
EXPORT exec_error cuMipmappedArrayDestroy(void *handle) {
    DRIVER_CALL(exec_levels_of(handle) != NULL ? exec_levels_free(handle) : EXEC_INVALID_HANDLE);
}

static exec_error level(void **array, const void *handle, unsigned i) {
    const exec_levels *l = exec_levels_of(handle);
    if (l == NULL)
        return EXEC_INVALID_HANDLE;
    if (array == NULL || i >= l->n)
        return EXEC_INVALID_VALUE;
    *array = l->level[i];
    return EXEC_SUCCESS;
}

EXPORT exec_error cuMipmappedArrayGetLevel(void **array, void *handle, unsigned i) {
    DRIVER_CALL(level(array, handle, i));
}
EXPORT exec_error cuMipmappedArrayGetMemoryRequirements(void *requirements, void *handle,
                                                        int device) {
    (void)requirements, (void)handle, (void)device;
    DRIVER_CALL(EXEC_INVALID_VALUE);
}
EXPORT exec_error cuMipmappedArrayGetSparseProperties(void *properties, void *handle) {
    (void)properties, (void)handle;
    DRIVER_CALL(EXEC_INVALID_VALUE);
}

/* ---- copies ---- */

/* In an array's first row, which it does not leave. */
static exec_error line(const void *handle, size_t offset, size_t bytes, char **memory) {
    size_t pitch, slice;
    return exec_array_part(handle, (exec_position){offset, 0, 0}, (exec_size3){bytes, 1, 1}, memory,
                           &pitch, &slice);
}

static exec_error copy(void *to, const void *from, size_t bytes, int direction, void *stream,
                       bool now) {
    exec_stream *s;
    const exec_block b = exec_bytes(to, from, bytes);
    const exec_error error = exec_stream_of(stream, &s);
    return error == EXEC_SUCCESS ? exec_copy(&b, direction, s, now) : error;
}

static exec_error copy_in(void *to, size_t offset, const void *from, size_t bytes, int direction,
                          void *stream, bool now) {
    char *memory;
    const exec_error error = line(to, offset, bytes, &memory);
    return error == EXEC_SUCCESS ? copy(memory, from, bytes, direction, stream, now) : error;
}

static exec_error copy_out(void *to, const void *from, size_t offset, size_t bytes, int direction,
                           void *stream, bool now) {
    char *memory;
    const exec_error error = line(from, offset, bytes, &memory);
    return error == EXEC_SUCCESS ? copy(to, memory, bytes, direction, stream, now) : error;
}

static exec_error copy_between(void *to, size_t to_offset, const void *from, size_t from_offset,
                               size_t bytes) {
    char *memory;
    const exec_error error = line(from, from_offset, bytes, &memory);
    return error == EXEC_SUCCESS
               ? copy_in(to, to_offset, memory, bytes, EXEC_DEVICE_TO_DEVICE, NULL, true)
               : error;
}

EXPORT exec_error cuMemcpyHtoA_v2(void *to, size_t offset, const void *from, size_t bytes) {
    DRIVER_CALL(copy_in(to, offset, from, bytes, EXEC_HOST_TO_DEVICE, NULL, true));
}
SAME_AS(cuMemcpyHtoA_v2_ptds, cuMemcpyHtoA_v2);
EXPORT exec_error cuMemcpyHtoAAsync_v2(void *to, size_t offset, const void *from, size_t bytes,
                                       void *stream) {
    DRIVER_CALL(copy_in(to, offset, from, bytes, EXEC_HOST_TO_DEVICE, stream, false));
}
SAME_AS(cuMemcpyHtoAAsync_v2_ptsz, cuMemcpyHtoAAsync_v2);
EXPORT exec_error cuMemcpyAtoH_v2(void *to, void *from, size_t offset, size_t bytes) {
    DRIVER_CALL(copy_out(to, from, offset, bytes, EXEC_DEVICE_TO_HOST, NULL, true));
}
SAME_AS(cuMemcpyAtoH_v2_ptds, cuMemcpyAtoH_v2);
EXPORT exec_error cuMemcpyAtoHAsync_v2(void *to, void *from, size_t offset, size_t bytes,
                                       void *stream) {
    DRIVER_CALL(copy_out(to, from, offset, bytes, EXEC_DEVICE_TO_HOST, stream, false));
}
SAME_AS(cuMemcpyAtoHAsync_v2_ptsz, cuMemcpyAtoHAsync_v2);
EXPORT exec_error cuMemcpyDtoA_v2(void *to, size_t offset, device_pointer from, size_t bytes) {
    DRIVER_CALL(copy_in(to, offset, at(from), bytes, EXEC_DEVICE_TO_DEVICE, NULL, true));
}
SAME_AS(cuMemcpyDtoA_v2_ptds, cuMemcpyDtoA_v2);
EXPORT exec_error cuMemcpyAtoD_v2(device_pointer to, void *from, size_t offset, size_t bytes) {
    DRIVER_CALL(copy_out(at(to), from, offset, bytes, EXEC_DEVICE_TO_DEVICE, NULL, true));
}
SAME_AS(cuMemcpyAtoD_v2_ptds, cuMemcpyAtoD_v2);
EXPORT exec_error cuMemcpyAtoA_v2(void *to, size_t to_offset, void *from, size_t from_offset,
                                  size_t bytes) {
    DRIVER_CALL(copy_between(to, to_offset, from, from_offset, bytes));
}
SAME_AS(cuMemcpyAtoA_v2_ptds, cuMemcpyAtoA_v2);
