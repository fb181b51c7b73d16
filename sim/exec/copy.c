#include "sim/exec/copy.h"

#include "sim/exec/allocate.h"
#include "sim/exec/call.h"
#include "sim/exec/capture.h"
#include "sim/exec/memory.h"
#include "sim/exec/module.h"
#include "sim/exec/overlap.h"
#include "sim/exec/report.h"

#include <stdlib.h>
#include <string.h>

exec_block exec_bytes(void *to, const void *from, size_t bytes) {
    return (exec_block){to, from, bytes, 1, 1, bytes, bytes, bytes, bytes};
}

/* From the first byte to behind the last. */
static size_t extent(size_t width, size_t rows, size_t planes, size_t pitch, size_t slice) {
    return (planes - 1) * slice + (rows - 1) * pitch + width;
}

/* The work that runs accesses the rows of a block. */
static void touch(const void *at, const exec_block *b, size_t pitch, size_t slice, bool writes) {
    for (size_t z = 0; z < b->planes; ++z)
        for (size_t y = 0; y < b->rows; ++y)
            exec_overlap_touch((const char *)at + z * slice + y * pitch, b->width, writes);
}

/* ---- errors of an address ---- */

/* `later`: for a graph, whose memory need not be there yet. */
static exec_error check_range(const void *address, size_t bytes, bool writes, bool later) {
    char why[EXEC_MEMORY_LINE];
    const exec_variable *v = exec_variable_at(address);
    if (v != NULL && bytes > (size_t)(v->address + v->bytes - (const char *)address)) {
        exec_problem(EXEC_PROBLEM_COPY,
                     "%s %s %zu bytes, some of them behind variable %s (%zu bytes)",
                     exec_call_name(), writes ? "writes" : "reads", bytes, v->name, v->bytes);
        return EXEC_INVALID_VALUE;
    }
    if (v != NULL ||
        (later ? exec_memory_check_later : exec_memory_check)(address, bytes, writes, why))
        return EXEC_SUCCESS;
    exec_problem(EXEC_PROBLEM_COPY, "%s %s", exec_call_name(), why);
    return EXEC_INVALID_VALUE;
}

/* Whether the side that a direction gives to an address is where it lies. */
static exec_error check_side(const void *address, bool device, const char *role) {
    const exec_place place = exec_place_of(address);
    if (device && place == EXEC_PLACE_OWN) {
        exec_problem(EXEC_PROBLEM_COPY,
                     "%s: its %s is to be device memory, but CUDA did not allocate %p",
                     exec_call_name(), role, address);
        return EXEC_INVALID_VALUE;
    }
    if (!device && place == EXEC_PLACE_DEVICE) {
        exec_problem(EXEC_PROBLEM_COPY, "%s: its %s is to be host memory, but %p is the device's",
                     exec_call_name(), role, address);
        return EXEC_INVALID_VALUE;
    }
    return EXEC_SUCCESS;
}

static exec_error check_sides(const exec_block *b, int direction) {
    if (direction == EXEC_ANY_DIRECTION)
        return EXEC_SUCCESS;
    const bool to = direction == EXEC_HOST_TO_DEVICE || direction == EXEC_DEVICE_TO_DEVICE;
    const bool from = direction == EXEC_DEVICE_TO_HOST || direction == EXEC_DEVICE_TO_DEVICE;
    const exec_error error = check_side(b->to, to, "destination");
    return error == EXEC_SUCCESS ? check_side(b->from, from, "source") : error;
}

static exec_error check(const exec_block *b, int direction, bool later) {
    if (direction < EXEC_HOST_TO_HOST || direction > EXEC_ANY_DIRECTION)
        return EXEC_INVALID_DIRECTION;
    if (b->to_pitch < b->width || b->from_pitch < b->width)
        return EXEC_INVALID_PITCH;
    if (b->to == NULL || b->from == NULL)
        return EXEC_INVALID_VALUE;
    exec_error error = check_range(
        b->from, extent(b->width, b->rows, b->planes, b->from_pitch, b->from_slice), false, later);
    if (error == EXEC_SUCCESS)
        error = check_range(b->to, extent(b->width, b->rows, b->planes, b->to_pitch, b->to_slice),
                            true, later);
    return error == EXEC_SUCCESS ? check_sides(b, direction) : error;
}

/* Whether the memory is still there when the work is done: with late streams the program may have
 * freed it meanwhile. */
static bool is_there(const char *what, const void *address, size_t bytes, bool writes) {
    char why[EXEC_MEMORY_LINE];
    if (exec_memory_check(address, bytes, writes, why))
        return true;
    exec_problem(EXEC_PROBLEM_COPY, "%s, when it is done, %s", what, why);
    return false;
}

/* ---- copies ---- */

typedef struct copy_work {
    exec_work work;
    exec_block block;
    int direction;
    bool staged; /* the source lies in `data`, without gaps */
    char data[];
} copy_work;

static void move(const exec_block *b, char *to, size_t to_pitch, size_t to_slice, const char *from,
                 size_t from_pitch, size_t from_slice) {
    for (size_t z = 0; z < b->planes; ++z)
        for (size_t y = 0; y < b->rows; ++y)
            memmove(to + z * to_slice + y * to_pitch, from + z * from_slice + y * from_pitch,
                    b->width);
}

static void run_copy(exec_work *work) {
    const copy_work *c = (const copy_work *)work;
    const exec_block *b = &c->block;
    const size_t width = b->width, slice = width * b->rows;
    const size_t to = extent(width, b->rows, b->planes, b->to_pitch, b->to_slice);
    const size_t from = extent(width, b->rows, b->planes, b->from_pitch, b->from_slice);
    if (!is_there("a copy", b->to, to, true) ||
        (!c->staged && !is_there("a copy", b->from, from, false)))
        return;
    exec_memory_written(b->to);
    exec_overlap_by("a copy", "");
    touch(b->to, b, b->to_pitch, b->to_slice, true);
    if (!c->staged) /* otherwise it was read within the call */
        touch(b->from, b, b->from_pitch, b->from_slice, false);
    if (c->staged)
        move(b, b->to, b->to_pitch, b->to_slice, c->data, width, slice);
    else
        move(b, b->to, b->to_pitch, b->to_slice, b->from, b->from_pitch, b->from_slice);
}

static copy_work *new_copy(const exec_block *b, bool staged) {
    const size_t slice = b->width * b->rows;
    copy_work *c =
        exec_work_new(EXEC_WORK_COPY, sizeof *c + (staged ? slice * b->planes : 0), run_copy);
    if (c == NULL)
        return NULL;
    c->block = *b;
    c->staged = staged;
    if (staged)
        move(b, c->data, b->width, slice, b->from, b->from_pitch, b->from_slice);
    return c;
}

static bool is_empty(const exec_block *b) {
    return b->width == 0 || b->rows == 0 || b->planes == 0;
}

exec_error exec_copy_work(const exec_block *b, int direction, exec_work **work) {
    *work = NULL;
    const exec_error error = is_empty(b) ? EXEC_INVALID_VALUE : check(b, direction, true);
    if (error != EXEC_SUCCESS)
        return error;
    copy_work *c = new_copy(b, false);
    if (c == NULL)
        return EXEC_OUT_OF_MEMORY;
    c->direction = direction;
    *work = &c->work;
    return EXEC_SUCCESS;
}

exec_error exec_work_copies(const exec_work *work, exec_block *block, int *direction) {
    const copy_work *c = (const copy_work *)work;
    if (work->run != run_copy)
        return EXEC_INVALID_VALUE;
    *block = c->block;
    *direction = c->direction;
    return EXEC_SUCCESS;
}

static exec_error submit(const exec_block *b, int direction, exec_stream *stream, bool now,
                         bool staged) {
    copy_work *c = new_copy(b, staged);
    if (c != NULL)
        c->direction = direction;
    const bool captured = exec_capture_of(stream) != NULL;
    const exec_error error = exec_work_submit(c != NULL ? &c->work : NULL, stream);
    if (error == EXEC_SUCCESS && !captured && (now || exec_place_of(b->to) == EXEC_PLACE_OWN))
        exec_stream_synchronize(stream);
    return error;
}

exec_error exec_copy(const exec_block *b, int direction, exec_stream *stream, bool now) {
    if (is_empty(b))
        return EXEC_SUCCESS;
    const bool captured = exec_capture_of(stream) != NULL;
    const exec_error error = check(b, direction, captured);
    if (error != EXEC_SUCCESS)
        return error;
    if (captured && now)
        return exec_capture_refuse(stream);
    return submit(b, direction, stream, now,
                  !now && !captured && exec_place_of(b->from) == EXEC_PLACE_OWN);
}

exec_error exec_copy_early(const exec_block *b, int direction, exec_stream *stream) {
    if (is_empty(b))
        return EXEC_SUCCESS;
    const exec_error error = check(b, direction, false);
    if (error != EXEC_SUCCESS)
        return error;
    return exec_capture_of(stream) == NULL ? submit(b, direction, stream, false, true)
                                           : exec_capture_refuse(stream);
}

/* ---- fills ---- */

typedef struct fill_work {
    exec_work work;
    exec_fill fill;
} fill_work;

static void fill_row(char *row, const exec_fill *f) {
    const uint16_t half = (uint16_t)f->value;
    if (f->element == 1)
        memset(row, (int)f->value, f->width);
    else
        for (size_t x = 0; x < f->width; ++x)
            memcpy(row + x * f->element,
                   f->element == 2 ? (const void *)&half : (const void *)&f->value, f->element);
}

static void run_fill(exec_work *work) {
    const exec_fill *f = &((const fill_work *)work)->fill;
    const size_t bytes = f->width * f->element;
    if (!is_there("a fill", f->to, extent(bytes, f->rows, f->planes, f->pitch, f->slice), true))
        return;
    exec_memory_written(f->to);
    exec_overlap_by("a fill", "");
    touch(f->to, &(exec_block){.width = bytes, .rows = f->rows, .planes = f->planes}, f->pitch,
          f->slice, true);
    for (size_t z = 0; z < f->planes; ++z)
        for (size_t y = 0; y < f->rows; ++y)
            fill_row((char *)f->to + z * f->slice + y * f->pitch, f);
}

static exec_error set_work(const exec_fill *f, bool later, exec_work **work) {
    *work = NULL;
    const size_t bytes = f->width * f->element;
    if (f->element != 1 && f->element != 2 && f->element != 4)
        return EXEC_INVALID_VALUE;
    if (f->to == NULL || (f->rows > 1 && f->pitch < bytes))
        return EXEC_INVALID_VALUE;
    exec_error error =
        check_range(f->to, extent(bytes, f->rows, f->planes, f->pitch, f->slice), true, later);
    if (error == EXEC_SUCCESS)
        error = check_side(f->to, true, "destination");
    if (error != EXEC_SUCCESS)
        return error;
    fill_work *w = exec_work_new(EXEC_WORK_FILL, sizeof *w, run_fill);
    if (w == NULL)
        return EXEC_OUT_OF_MEMORY;
    w->fill = *f;
    *work = &w->work;
    return EXEC_SUCCESS;
}

exec_error exec_set_work(const exec_fill *f, exec_work **work) {
    return set_work(f, true, work);
}

exec_error exec_work_fills(const exec_work *work, exec_fill *fill) {
    if (work->run != run_fill)
        return EXEC_INVALID_VALUE;
    *fill = ((const fill_work *)work)->fill;
    return EXEC_SUCCESS;
}

exec_error exec_set(const exec_fill *f, exec_stream *stream, bool now) {
    exec_work *work;
    if (f->width == 0 || f->rows == 0 || f->planes == 0)
        return EXEC_SUCCESS;
    const bool captured = exec_capture_of(stream) != NULL;
    exec_error error = set_work(f, captured, &work);
    if (error == EXEC_SUCCESS && captured && now) {
        free(work);
        error = exec_capture_refuse(stream);
    }
    if (error == EXEC_SUCCESS)
        error = exec_work_submit(work, stream);
    /* Of device memory, cudaMemset may return before it is done. */
    if (error == EXEC_SUCCESS && now && exec_place_of(f->to) != EXEC_PLACE_DEVICE)
        exec_stream_synchronize(stream);
    return error;
}
