#include "engine/buffer.h"
#include "engine/pattern.h"

#include "core/parallel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 4096, ALIGNMENT = 256 };

/* Beyond this a second copy in device memory would cost more than it tells. */
static const size_t most_staged = (size_t)1 << 30;

/*
 * A kernel that uses one tensor's stride or alignment for another is right where all lie
 * alike. So pads grow from tensor to tensor, by steps that keep rows as aligned as the case asks
 * for up to a pack of 8 elements; more tensors than an operator has would make them long.
 */
spacing buffer_spacing(const assay_case *c, int32_t number) {
    enum { PACK = 8, PADS = 13 };
    const int64_t lowest_bit = c->pad & -c->pad, step = lowest_bit < PACK ? lowest_bit : PACK;
    const int64_t which = c->misalign % ASSAY_MISALIGN_STEP;
    const int64_t further = c->misalign / ASSAY_MISALIGN_STEP;
    int64_t shift = 0;
    if (which < ASSAY_MISALIGN_ONE)
        shift = which + ASSAY_MISALIGN_ONE * further;
    else if (which - ASSAY_MISALIGN_ONE == number)
        shift = further + 1;
    return (spacing){.pad = c->pad + step * (number % PADS), .shift = shift};
}

assay_tensor buffer_layout(const assay_tensor_spec *spec, spacing apart) {
    assay_tensor t = {.dtype = spec->dtype, .rank = spec->rank, .inner = spec->inner};
    int64_t stride = 1;
    for (int32_t a = spec->rank - 1; a >= 0; --a) {
        if (a == spec->rank - spec->inner - 1)
            stride += apart.pad;
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

/* The memory of `first + size` bytes and a guard behind them. */
assay_status buffer_reserve(buffer *b, const assay_device *device, const assay_tensor_spec *spec,
                            const char *name, spacing apart) {
    const assay_tensor layout = buffer_layout(spec, apart);
    const size_t first = GUARD + (size_t)apart.shift * assay_dtype_size(spec->dtype);
    *b = (buffer){.device = device, .first = first, .tensor = layout};
    snprintf(b->name, sizeof b->name, "%s", name);
    b->bytes = (first + (size_t)extent(&layout) + GUARD + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *memory = NULL;
    const assay_status status = device->alloc(b->bytes, &memory);
    b->memory = memory;
    b->tensor.data = status == ASSAY_OK ? b->memory + first : NULL;
    return status;
}

/* The image, and the memory where data wait. */
static assay_status attend(buffer *b) {
    b->image = malloc(b->bytes);
    if (!b->image)
        return assay_fail(ASSAY_ERR_MEMORY,
                          "%s: no host memory for %zu bytes; make the case smaller", b->name,
                          b->bytes);
    pattern_fill(b->image, 0, b->bytes);
    void *staged = NULL;
    assay_status status = ASSAY_OK;
    if (b->device->pause && b->bytes <= most_staged)
        status = b->device->alloc(b->bytes, &staged);
    b->staged = staged;
    return status;
}

/* Calls visit for each gap that no row covers: guards, misalignment, padding. */
static assay_status visit_gaps(const buffer *b, size_t size,
                               assay_status (*visit)(const buffer *b, size_t from, size_t to)) {
    const assay_tensor *t = &b->tensor;
    const size_t element = assay_dtype_size(t->dtype);
    const size_t step = (size_t)assay_tensor_row_stride(t) * element;
    const size_t length = (size_t)assay_tensor_row_length(t) * element;
    const bool dense = step == length; /* rows without gaps are one */
    const int64_t rows = size == 0 ? 0 : dense ? 1 : assay_tensor_rows(t);
    const size_t row = dense ? size : length;
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

void buffer_guard(const buffer *b, bool on) {
    (void)visit_gaps(b, (size_t)extent(&b->tensor), on ? guard_gap : unguard_gap);
}

static assay_status check_gap(const buffer *b, size_t from, size_t to) {
    const size_t at = from + pattern_breaks(b->image + from, from, to - from);
    if (at == to)
        return ASSAY_OK;
    return assay_fail_as(ASSAY_ERR_KERNEL, ASSAY_FAILURE_STRAY,
                         "wrote outside %s: byte %lld counted from its first element; rows end at "
                         "byte %lld",
                         b->name, (long long)at - (long long)b->first,
                         (long long)extent(&b->tensor));
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
        buffer_guard(b, true);
    return status;
}

/* ---- values ---- */

/* Those of elements first.. in a copy of the memory's bytes from `origin` on; `to` of those that
 * are widened. */
typedef struct stretch {
    const buffer *b;
    unsigned char *copy;
    size_t origin;
    int64_t first;
    const double *from;
    double *to;
} stretch;

size_t buffer_offset(const buffer *b, int64_t element) {
    const int64_t length = assay_tensor_row_length(&b->tensor);
    const int64_t stride = assay_tensor_row_stride(&b->tensor);
    const int64_t place = length > 0 ? element / length * stride + element % length : 0;
    return b->first + (size_t)place * assay_dtype_size(b->tensor.dtype);
}

/* Elements first + begin..first + end, row by row. */
static void convert(void *context, int64_t begin, int64_t end) {
    const stretch *v = context;
    const assay_dtype dtype = v->b->tensor.dtype;
    const int64_t length = assay_tensor_row_length(&v->b->tensor);
    while (begin < end) {
        const int64_t at = v->first + begin, left = length - at % length;
        const int64_t count = end - begin < left ? end - begin : left;
        unsigned char *stored = v->copy + (buffer_offset(v->b, at) - v->origin);
        if (v->from)
            assay_dtype_narrow(dtype, v->from + begin, stored, count);
        else
            assay_dtype_widen(dtype, stored, v->to + begin, count);
        begin += count;
    }
}

void buffer_convert(const buffer *b, unsigned char *copy, size_t from, int64_t first, int64_t last,
                    const double *narrow, double *wide) {
    stretch v = {.b = b, .copy = copy, .origin = from, .first = first, .from = narrow, .to = wide};
    assay_parallel(last - first, convert, &v);
}

void buffer_widen(const buffer *b, double *values) {
    buffer_convert(b, b->image, 0, 0, assay_tensor_count(&b->tensor), NULL, values);
}

/* ---- life ---- */

assay_status buffer_init(buffer *b, const assay_device *device, const assay_tensor_spec *spec,
                         const char *name, spacing apart, const double *values) {
    assay_status status = buffer_reserve(b, device, spec, name, apart);
    if (status == ASSAY_OK)
        status = attend(b);
    if (status != ASSAY_OK)
        return status;
    if (values)
        buffer_convert(b, b->image, 0, 0, assay_tensor_count(&b->tensor), values, NULL);
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
    free(b->taken);
    free(b->early);
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

static assay_status add_download(const buffer *b, unsigned char **copy, const void *from,
                                 downloads *list) {
    *copy = malloc(b->bytes);
    if (!*copy)
        return assay_fail(ASSAY_ERR_MEMORY,
                          "%s: no host memory for %zu bytes; make the case smaller", b->name,
                          b->bytes);
    downloads_add(list, *copy, from, b->bytes);
    return ASSAY_OK;
}

assay_status buffer_ask_back(buffer *b, bool input, downloads *list) {
    buffer_guard(b, false);
    const assay_status status = add_download(b, &b->taken, b->memory, list);
    return status == ASSAY_OK && !input && b->staged ? add_download(b, &b->early, b->staged, list)
                                                     : status;
}

static assay_status check_unchanged(const buffer *b) {
    const size_t i = first_difference(b->taken, b->image, b->bytes);
    if (i == b->bytes)
        return ASSAY_OK;
    return assay_fail_as(ASSAY_ERR_KERNEL, ASSAY_FAILURE_STRAY,
                         "changed its input %s: byte %lld counted from its "
                         "first element",
                         b->name, (long long)i - (long long)b->first);
}

/* An output as it was when the variant's stream was done, beside what it is now. */
static assay_status check_departure(const buffer *b) {
    const size_t i = first_difference(b->early, b->taken, b->bytes);
    if (i == b->bytes)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_KERNEL,
                      "%s was written after its stream was done, byte %lld counted from its "
                      "first element: does it work on another stream?",
                      b->name, (long long)i - (long long)b->first);
}

assay_status buffer_take_back(buffer *b, bool input) {
    assay_status status = ASSAY_OK;
    if (input)
        status = check_unchanged(b);
    else if (b->early)
        status = check_departure(b);
    free(b->early);
    free(b->image);
    b->image = b->taken;
    b->early = b->taken = NULL;
    if (status == ASSAY_OK && !input)
        status = visit_gaps(b, (size_t)extent(&b->tensor), check_gap);
    buffer_guard(b, true);
    return status;
}
