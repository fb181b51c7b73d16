#include "sim/exec/array.h"

#include "sim/exec/allocate.h"
#include "sim/exec/call.h"
#include "sim/exec/handles.h"
#include "sim/exec/report.h"
#include "sim/exec/stream.h"

#include <stdlib.h>

enum { FACES = 6 };

const exec_array *exec_array_of(const void *handle) {
    return exec_handle_is(handle, EXEC_HANDLE_ARRAY) ? handle : NULL;
}

bool exec_image_format(const exec_format *f, sim_image *image) {
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
           (bits == 8 || bits == 16 || bits == 32) && f->kind >= 0 && f->kind < EXEC_NO_CHANNEL;
}

static uint32_t at_least_one(size_t n) {
    return n == 0 ? 1 : (uint32_t)n;
}

/* A cube's planes are its faces, six for each layer. */
static bool has_shape(const exec_array *a) {
    const exec_size3 n = a->size;
    const bool layered = (a->flags & EXEC_ARRAY_LAYERED) != 0;
    if (n.width == 0 || n.width > INT32_MAX || n.rows > INT32_MAX || n.planes > INT32_MAX)
        return false;
    if ((a->flags & EXEC_ARRAY_CUBE) != 0)
        return n.width == n.rows &&
               (layered ? n.planes > 0 && n.planes % FACES == 0 : n.planes == FACES);
    return layered ? n.planes > 0 : n.rows > 0 || n.planes == 0;
}

static exec_error allocate(exec_array *a) {
    const unsigned known =
        EXEC_ARRAY_LAYERED | EXEC_ARRAY_SURFACE | EXEC_ARRAY_CUBE | EXEC_ARRAY_GATHER;
    sim_image *m = &a->image;
    if ((a->flags & ~known) != 0) {
        exec_problem(EXEC_PROBLEM_NOT_SIMULATED, "%s with the flags %#x is not simulated",
                     exec_call_name(), a->flags);
        return EXEC_NOT_SUPPORTED;
    }
    if (!exec_image_format(&a->format, m) || !has_shape(a))
        return EXEC_INVALID_VALUE;
    const uint32_t rows = at_least_one(a->size.rows), planes = at_least_one(a->size.planes);
    m->cube = (a->flags & EXEC_ARRAY_CUBE) != 0;
    m->layered = (a->flags & EXEC_ARRAY_LAYERED) != 0;
    m->dimensions = a->size.rows == 0 ? 1 : m->cube || m->layered || a->size.planes == 0 ? 2 : 3;
    m->size[0] = (uint32_t)a->size.width;
    m->size[1] = m->dimensions > 1 ? rows : planes;
    m->size[2] = planes;
    m->pitch = a->size.width * exec_image_element(m);
    m->slice = m->pitch * rows;
    return exec_allocate((void **)&m->memory, m->slice * planes, EXEC_DEVICE);
}

exec_error exec_array_make(void **handle, const exec_format *f, exec_size3 size, unsigned flags) {
    if (handle == NULL || f == NULL)
        return EXEC_INVALID_VALUE;
    exec_array *a = calloc(1, sizeof *a);
    if (a == NULL)
        return EXEC_OUT_OF_MEMORY;
    *a = (exec_array){.format = *f, .size = size, .flags = flags};
    exec_error error = allocate(a);
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

void exec_array_belongs(void *handle, bool is_level) {
    ((exec_array *)handle)->is_level = is_level;
}

exec_error exec_array_free(void *handle) {
    exec_array *a = handle;
    if (exec_array_of(handle) == NULL || a->is_level)
        return EXEC_INVALID_VALUE;
    exec_streams_synchronize();
    exec_handle_remove(a);
    const exec_error error = exec_deallocate(a->image.memory);
    free(a);
    return error;
}

/* ---- parts of it, for copies ---- */

static exec_error outside(const exec_array *a) {
    exec_problem(EXEC_PROBLEM_COPY, "%s: the copy does not lie within its array of %zu x %zu x %zu",
                 exec_call_name(), a->size.width, a->size.rows, a->size.planes);
    return EXEC_INVALID_VALUE;
}

exec_error exec_array_part(const void *handle, exec_position at, exec_size3 size, char **memory,
                           size_t *pitch, size_t *slice) {
    const exec_array *a = exec_array_of(handle);
    if (a == NULL)
        return EXEC_INVALID_VALUE;
    const sim_image *m = &a->image;
    const size_t rows = at_least_one(a->size.rows), planes = at_least_one(a->size.planes);
    if (at.x > m->pitch || size.width > m->pitch - at.x || at.y > rows || size.rows > rows - at.y ||
        at.z > planes || size.planes > planes - at.z)
        return outside(a);
    *memory = m->memory + at.z * m->slice + at.y * m->pitch + at.x;
    *pitch = m->pitch;
    *slice = m->slice;
    return EXEC_SUCCESS;
}

exec_error exec_array_run(const void *handle, size_t x, size_t y, size_t bytes, char **memory) {
    const exec_array *a = exec_array_of(handle);
    if (a == NULL || a->size.planes > 1)
        return EXEC_INVALID_VALUE;
    const sim_image *m = &a->image;
    if (x > m->pitch || y > at_least_one(a->size.rows) || y * m->pitch + x > m->slice ||
        bytes > m->slice - y * m->pitch - x)
        return outside(a);
    *memory = m->memory + y * m->pitch + x;
    return EXEC_SUCCESS;
}
