/* Copies in batches (CUDA 12.8). They have no order among each other; done in that of the list. */
#include "sim/exec/cudart/cudart.h"

typedef struct location {
    int type, number;
} location;

/* When the source may be read, as cudaMemcpySrcAccessOrder numbers it. */
enum { IN_ORDER = 1, DURING_CALL, AT_ANY_TIME };

typedef struct copy_attributes {
    int order;
    location from, to;
    unsigned flags;
} copy_attributes;

static exec_error copy(const exec_block *b, int order, exec_stream *stream) {
    if (order < IN_ORDER || order > AT_ANY_TIME)
        return EXEC_INVALID_VALUE;
    return order == DURING_CALL ? exec_copy_early(b, EXEC_ANY_DIRECTION, stream)
                                : exec_copy(b, EXEC_ANY_DIRECTION, stream, false);
}

/* Of the two default streams, only a thread's own takes batches. */
enum { LEGACY = 1, OF_THREAD };

static exec_error stream_of(void *handle, exec_stream **stream) {
    const exec_error error = exec_stream_of(handle, stream);
    return error == EXEC_SUCCESS && (uintptr_t)handle <= LEGACY ? EXEC_INVALID_VALUE : error;
}

/* What NULL means in a program with a default stream for each thread. */
static void *own(void *handle) {
    return handle != NULL ? handle : (void *)(uintptr_t)OF_THREAD;
}

/* first[i] is the first copy with the attributes a[i]. */
static bool cover_all(const copy_attributes *a, const size_t *first, size_t n_attributes,
                      size_t n) {
    if (a == NULL || first == NULL || n_attributes == 0 || n_attributes > n || first[0] != 0)
        return false;
    for (size_t i = 1; i < n_attributes; ++i)
        if (first[i] <= first[i - 1])
            return false;
    return first[n_attributes - 1] < n;
}

typedef struct list {
    void *const *to;
    const void *const *from;
    const size_t *bytes;
    size_t n;
    const copy_attributes *attributes;
    const size_t *first;
    size_t n_attributes;
} list;

static void tell(size_t *failed, size_t i) {
    if (failed != NULL)
        *failed = i;
}

/* *failed: the copy with the error, SIZE_MAX where it is none's. */
static exec_error run_list(const list *l, size_t *failed, void *handle) {
    exec_stream *stream;
    exec_error error = stream_of(handle, &stream);
    tell(failed, SIZE_MAX);
    if (error != EXEC_SUCCESS)
        return error;
    if (l->to == NULL || l->from == NULL || l->bytes == NULL ||
        !cover_all(l->attributes, l->first, l->n_attributes, l->n))
        return EXEC_INVALID_VALUE;
    for (size_t i = 0, a = 0; error == EXEC_SUCCESS && i < l->n; ++i) {
        a += a + 1 < l->n_attributes && l->first[a + 1] == i;
        const exec_block b = exec_bytes(l->to[i], l->from[i], l->bytes[i]);
        error = copy(&b, l->attributes[a].order, stream);
        if (error != EXEC_SUCCESS)
            tell(failed, i);
    }
    return error;
}

/* ---- of memory and arrays ---- */

typedef struct operand {
    int type;
    union {
        struct {
            char *memory;
            size_t row, rows; /* elements from row to row, rows from plane to plane; 0: no gaps */
            location hint;
        } memory;
        struct {
            void *array;
            position at;
        } array;
    } of;
} operand;
enum { OPERAND_MEMORY = 1, OPERAND_ARRAY };

typedef struct operation {
    operand from, to;
    size3 size;
    int order;
    unsigned flags;
} operation;

static size_t unit_of(const operand *o) {
    const exec_array *a = o->type == OPERAND_ARRAY ? exec_array_of(o->of.array.array) : NULL;
    return a != NULL ? exec_image_element(&a->image) : 0;
}

/* A side in bytes; `size` in elements of `unit` bytes. */
static exec_error side(const operand *o, size3 size, size_t unit, char **memory, size_t *pitch,
                       size_t *slice) {
    if (o->type == OPERAND_ARRAY) {
        const position at = o->of.array.at;
        return exec_array_part(o->of.array.array, (position){at.x * unit, at.y, at.z},
                               (size3){size.width * unit, size.rows, size.planes}, memory, pitch,
                               slice);
    }
    const size_t row = o->of.memory.row != 0 ? o->of.memory.row : size.width;
    const size_t rows = o->of.memory.rows != 0 ? o->of.memory.rows : size.rows;
    if (o->type != OPERAND_MEMORY || row < size.width || rows < size.rows)
        return EXEC_INVALID_VALUE;
    *memory = o->of.memory.memory;
    *pitch = row * unit;
    *slice = *pitch * rows;
    return EXEC_SUCCESS;
}

static exec_error run_operation(const operation *o, exec_stream *stream) {
    const size_t from_unit = unit_of(&o->from), to_unit = unit_of(&o->to);
    const size_t unit = from_unit != 0 ? from_unit : to_unit != 0 ? to_unit : 1;
    exec_block b = {.width = o->size.width * unit, .rows = o->size.rows, .planes = o->size.planes};
    char *from = NULL;
    if (b.width == 0 || b.rows == 0 || b.planes == 0 ||
        (from_unit != 0 && to_unit != 0 && from_unit != to_unit))
        return EXEC_INVALID_VALUE;
    exec_error error = side(&o->from, o->size, unit, &from, &b.from_pitch, &b.from_slice);
    b.from = from;
    if (error == EXEC_SUCCESS)
        error = side(&o->to, o->size, unit, (char **)&b.to, &b.to_pitch, &b.to_slice);
    return error == EXEC_SUCCESS ? copy(&b, o->order, stream) : error;
}

static exec_error run_operations(const operation *o, size_t n, unsigned long long flags,
                                 size_t *failed, void *handle) {
    exec_stream *stream;
    exec_error error = stream_of(handle, &stream);
    tell(failed, SIZE_MAX);
    if (error != EXEC_SUCCESS)
        return error;
    if (n == 0 || o == NULL || flags != 0)
        return EXEC_INVALID_VALUE;
    for (size_t i = 0; error == EXEC_SUCCESS && i < n; ++i) {
        error = run_operation(&o[i], stream);
        if (error != EXEC_SUCCESS)
            tell(failed, i);
    }
    return error;
}

/* CUDA 13 no longer says which copy failed. */
#if EXEC_CUDART >= 13
#define FAILED
#define PLACE NULL
#else
#define FAILED size_t *failed,
#define PLACE  failed
#endif

#define BATCH(name, stream)                                                                        \
    EXPORT exec_error name(void *const *to, const void *const *from, const size_t *bytes,          \
                           size_t n, const copy_attributes *attributes, const size_t *first,       \
                           size_t n_attributes, FAILED void *handle) {                             \
        const list l = {to, from, bytes, n, attributes, first, n_attributes};                      \
        EXEC_CALL(run_list(&l, PLACE, stream));                                                    \
    }
BATCH(cudaMemcpyBatchAsync, handle)
BATCH(cudaMemcpyBatchAsync_ptsz, own(handle))

#define BATCH_3D(name, stream)                                                                     \
    EXPORT exec_error name(size_t n, const operation *operations, FAILED unsigned long long flags, \
                           void *handle) {                                                         \
        EXEC_CALL(run_operations(operations, n, flags, PLACE, stream));                            \
    }
BATCH_3D(cudaMemcpy3DBatchAsync, handle)
BATCH_3D(cudaMemcpy3DBatchAsync_ptsz, own(handle))
