#include "tests/engine/buffer.h"
#include "tests/engine/pattern.h"

#include "assay/parallel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 4096, ALIGNMENT = 256 };

/* Beyond this a second copy in device memory would cost more than it tells. */
static const size_t most_staged = (size_t)1 << 30;

assay_tensor buffer_layout(const assay_tensor_spec *spec, const assay_case *c) {
    assay_tensor t = {.dtype = spec->dtype, .rank = spec->rank, .inner = spec->inner};
    int64_t stride = 1;
    for (int32_t a = spec->rank - 1; a >= 0; --a) {
        if (a == spec->rank - spec->inner - 1)
            stride += c->pad;
        t.shape[a] = spec->shape[a];
        t.stride[a] = stride;
        stride *= spec->shape[a];
    }
    return t;
}

/* Bytes from the first element to the end of the last row. */
static int64_t extent(const assay_tensor *t) {
    const int64_t rows = assay_tensor_rows(t), length = assay_tensor_row_length(t);
    const int64_t elements = rows > 0 ? (rows - 1) * assay_tensor_row_stride(t) + length : 0;
    return elements * (int64_t)assay_dtype_size(t->dtype);
}

/* Image and memory of `first + size` bytes and a guard behind them. */
static assay_status allocate(buffer *b, const assay_device *device, const char *name, size_t first,
                             size_t size) {
    *b = (buffer){.device = device, .first = first};
    snprintf(b->name, sizeof b->name, "%s", name);
    b->bytes = (first + size + GUARD + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    b->image = malloc(b->bytes);
    if (!b->image)
        return assay_fail(ASSAY_ERR_MEMORY,
                          "%s: no host memory for %zu bytes; make the case smaller", name,
                          b->bytes);
    pattern_fill(b->image, 0, b->bytes);
    void *memory = NULL, *staged = NULL;
    assay_status status = device->alloc(b->bytes, &memory);
    b->memory = memory;
    if (status == ASSAY_OK && device->pause && b->bytes <= most_staged)
        status = device->alloc(b->bytes, &staged);
    b->staged = staged;
    return status;
}

/* Calls visit for each gap that no row covers: guards, misalignment, padding. */
static assay_status visit_gaps(const buffer *b, size_t size,
                               assay_status (*visit)(const buffer *b, size_t from, size_t to)) {
    const assay_tensor *t = &b->tensor;
    const size_t element = assay_dtype_size(t->dtype);
    const int64_t rows = size > 0 ? assay_tensor_rows(t) : 0;
    const size_t row = (size_t)assay_tensor_row_length(t) * element;
    const size_t step = (size_t)assay_tensor_row_stride(t) * element;
    size_t from = 0;
    assay_status status = ASSAY_OK;
    for (int64_t r = 0; status == ASSAY_OK && r < rows; ++r) {
        const size_t start = b->first + (size_t)r * step;
        if (from < start)
            status = visit(b, from, start);
        from = start + row;
    }
    return status == ASSAY_OK ? visit(b, from, b->bytes) : status;
}

static assay_status guard_gap(const buffer *b, size_t from, size_t to) {
    b->device->guard(b->memory + from, to - from, true);
    return ASSAY_OK;
}

static assay_status unguard_gap(const buffer *b, size_t from, size_t to) {
    b->device->guard(b->memory + from, to - from, false);
    return ASSAY_OK;
}

static assay_status check_gap(const buffer *b, size_t from, size_t to) {
    const size_t at = from + pattern_breaks(b->image + from, from, to - from);
    if (at == to)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_KERNEL,
                      "wrote outside %s: byte %lld counted from its first element; rows end at "
                      "byte %lld",
                      b->name, (long long)at - (long long)b->first, (long long)extent(&b->tensor));
}

/* To where it is used; a late input to where it waits. */
static assay_status upload(buffer *b, bool input) {
    const bool late = b->staged && input;
    assay_status status = ASSAY_OK;
    if (late)
        status = b->device->blank(b->memory, b->bytes);
    if (status == ASSAY_OK)
        status = b->device->upload(late ? b->staged : b->memory, b->image, b->bytes);
    if (status == ASSAY_OK)
        (void)visit_gaps(b, (size_t)extent(&b->tensor), guard_gap);
    return status;
}

/* ---- values ---- */

/* The values of a buffer's rows, dense; `to` of those that are widened. */
typedef struct rows {
    const buffer *b;
    const double *from;
    double *to;
} rows;

/* Elements first..last, row by row. */
static void convert(void *context, int64_t first, int64_t last) {
    const rows *r = context;
    const assay_tensor *t = &r->b->tensor;
    const int64_t length = assay_tensor_row_length(t), stride = assay_tensor_row_stride(t);
    const size_t element = assay_dtype_size(t->dtype);
    while (first < last) {
        const int64_t row = first / length, at = first % length;
        const int64_t count = last - first < length - at ? last - first : length - at;
        unsigned char *stored = r->b->image + r->b->first + (size_t)(row * stride + at) * element;
        if (r->from)
            assay_dtype_narrow(t->dtype, r->from + first, stored, count);
        else
            assay_dtype_widen(t->dtype, stored, r->to + first, count);
        first += count;
    }
}

static void narrow(const buffer *b, const double *values) {
    rows r = {.b = b, .from = values};
    assay_parallel(assay_tensor_count(&b->tensor), convert, &r);
}

void buffer_widen(const buffer *b, double *values) {
    rows r = {.b = b, .to = values};
    assay_parallel(assay_tensor_count(&b->tensor), convert, &r);
}

/* ---- life ---- */

assay_status buffer_init(buffer *b, const assay_device *device, const assay_tensor_spec *spec,
                         const char *name, const assay_case *c, const double *values) {
    const assay_tensor layout = buffer_layout(spec, c);
    const size_t element = assay_dtype_size(spec->dtype);
    const size_t first = GUARD + (size_t)c->misalign * element;
    const assay_status status = allocate(b, device, name, first, (size_t)extent(&layout));
    if (status != ASSAY_OK)
        return status;
    b->tensor = layout;
    b->tensor.data = b->memory + first;
    if (values)
        narrow(b, values);
    return upload(b, values != NULL);
}

assay_status buffer_arrive(buffer *b) {
    return b->staged ? b->device->copy(b->memory, b->staged, b->bytes) : ASSAY_OK;
}

assay_status buffer_depart(buffer *b) {
    return b->staged ? b->device->copy(b->staged, b->memory, b->bytes) : ASSAY_OK;
}

void buffer_clear(buffer *b) {
    if (b->memory) {
        b->device->guard(b->memory, b->bytes, false);
        b->device->release(b->memory);
    }
    if (b->staged)
        b->device->release(b->staged);
    free(b->image);
    *b = (buffer){0};
}

/* The first byte that differs, or `bytes`. */
static size_t first_difference(const unsigned char *a, const unsigned char *b, size_t bytes) {
    if (memcmp(a, b, bytes) == 0)
        return bytes;
    size_t i = 0;
    while (a[i] == b[i])
        ++i;
    return i;
}

/* An output as it was when the variant's stream was done, beside what it is now. */
static assay_status check_departure(const buffer *b, const unsigned char *taken) {
    unsigned char *early = malloc(b->bytes);
    if (!early)
        return assay_fail(ASSAY_ERR_MEMORY,
                          "%s: no host memory for %zu bytes; make the case smaller", b->name,
                          b->bytes);
    assay_status status = b->device->download(early, b->staged, b->bytes);
    const size_t i = status == ASSAY_OK ? first_difference(early, taken, b->bytes) : b->bytes;
    if (i < b->bytes)
        status = assay_fail(ASSAY_ERR_KERNEL,
                            "%s was written after its stream was done, byte %lld counted from its "
                            "first element: does it work on another stream?",
                            b->name, (long long)i - (long long)b->first);
    free(early);
    return status;
}

assay_status buffer_take_back(buffer *b, bool input) {
    (void)visit_gaps(b, (size_t)extent(&b->tensor), unguard_gap);
    unsigned char *taken = malloc(b->bytes);
    if (!taken)
        return assay_fail(ASSAY_ERR_MEMORY,
                          "%s: no host memory for %zu bytes; make the case smaller", b->name,
                          b->bytes);
    assay_status status = b->device->download(taken, b->memory, b->bytes);
    if (status == ASSAY_OK && input) {
        const size_t i = first_difference(taken, b->image, b->bytes);
        if (i < b->bytes)
            status = assay_fail(ASSAY_ERR_KERNEL,
                                "changed its input %s: byte %lld counted from its "
                                "first element",
                                b->name, (long long)i - (long long)b->first);
    }
    if (status == ASSAY_OK && !input && b->staged)
        status = check_departure(b, taken);
    free(b->image);
    b->image = taken;
    if (status == ASSAY_OK && !input)
        status = visit_gaps(b, (size_t)extent(&b->tensor), check_gap);
    (void)visit_gaps(b, (size_t)extent(&b->tensor), guard_gap);
    return status;
}
