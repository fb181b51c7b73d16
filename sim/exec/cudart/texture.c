/* Texture and surface objects. */
#include "sim/exec/texture.h"
#include "sim/exec/levels.h"

#include "sim/exec/cudart/cudart.h"

#include <string.h>

typedef struct resource {
    int kind;
    union {
        void *array;
        struct {
            void *memory;
            exec_format format;
            size_t bytes;
        } linear;
        struct {
            void *memory;
            exec_format format;
            size_t width, rows, pitch;
        } rows;
#if EXEC_CUDART >= 13
        int reserved[32];
#endif
    } of;
#if EXEC_CUDART >= 13
    unsigned flags;
#endif
} resource;

/* Before CUDA 12 the last field came with names that end in _v2. */
enum { READING = EXEC_CUDART >= 12 ? sizeof(exec_reading) : offsetof(exec_reading, seamless) };

static exec_resource plain(const resource *r) {
    exec_resource p = {.kind = r->kind};
    if (r->kind == EXEC_OF_ARRAY || r->kind == EXEC_OF_LEVELS)
        p.array = r->of.array;
    if (r->kind == EXEC_OF_MEMORY) {
        p.memory = r->of.linear.memory;
        p.format = r->of.linear.format;
        p.bytes = r->of.linear.bytes;
    }
    if (r->kind == EXEC_OF_ROWS) {
        p.memory = r->of.rows.memory;
        p.format = r->of.rows.format;
        p.width = r->of.rows.width;
        p.rows = r->of.rows.rows;
        p.pitch = r->of.rows.pitch;
    }
    return p;
}

/* What the runtime alone refuses: fractions of elements that have none, filters of integers. */
static exec_error check(const exec_resource *p, const exec_reading *how) {
    const exec_levels *l = p->kind == EXEC_OF_LEVELS ? exec_levels_of(p->array) : NULL;
    const exec_array *a = l != NULL                  ? exec_array_of(l->level[0])
                          : p->kind == EXEC_OF_ARRAY ? exec_array_of(p->array)
                                                     : NULL;
    if (a == NULL && (p->kind == EXEC_OF_ARRAY || p->kind == EXEC_OF_LEVELS))
        return EXEC_INVALID_HANDLE;
    const exec_format *f = a != NULL ? &a->format : &p->format;
    if (how->mode == EXEC_FRACTIONS)
        return f->bits[0] == 32 ? EXEC_INVALID_NORM : EXEC_SUCCESS;
    return how->filter == 1 && f->kind != SIM_CHANNEL_FLOAT ? EXEC_INVALID_FILTER : EXEC_SUCCESS;
}

static exec_error create(uint64_t *object, const resource *r, const void *how, size_t bytes,
                         const exec_view *view) {
    exec_reading reading = {.seamless = 0};
    if (object == NULL || r == NULL || how == NULL)
        return EXEC_INVALID_VALUE;
    memcpy(&reading, how, bytes);
    reading.mode = reading.mode != EXEC_AS_IT_IS ? EXEC_FRACTIONS : EXEC_AS_IT_IS;
    const exec_resource p = plain(r);
    const exec_error error = view == NULL ? check(&p, &reading) : EXEC_SUCCESS;
    return error == EXEC_SUCCESS ? exec_texture_make(object, &p, &reading, view) : error;
}

EXPORT exec_error cudaCreateTextureObject(uint64_t *object, const resource *r, const void *how,
                                          const exec_view *view) {
    EXEC_CALL(create(object, r, how, READING, view));
}
EXPORT exec_error cudaCreateTextureObject_v2(uint64_t *object, const resource *r, const void *how,
                                             const exec_view *view) {
    EXEC_CALL(create(object, r, how, sizeof(exec_reading), view));
}

static exec_error create_surface(uint64_t *object, const resource *r) {
    if (object == NULL || r == NULL)
        return EXEC_INVALID_VALUE;
    const exec_resource p = plain(r);
    if (p.kind == EXEC_OF_ARRAY && exec_array_of(p.array) == NULL)
        return EXEC_INVALID_HANDLE;
    return exec_surface_make(object, &p);
}

EXPORT exec_error cudaCreateSurfaceObject(uint64_t *object, const resource *r) {
    EXEC_CALL(create_surface(object, r));
}

EXPORT exec_error cudaDestroyTextureObject(uint64_t object) {
    EXEC_CALL(exec_texture_free(object, false));
}
EXPORT exec_error cudaDestroySurfaceObject(uint64_t object) {
    EXEC_CALL(exec_texture_free(object, true));
}

/* ---- what they were made of ---- */

static exec_error tell_resource(resource *r, uint64_t object, bool surface) {
    const exec_texture *t = exec_texture_of(object, surface);
    if (r == NULL || t == NULL)
        return EXEC_INVALID_VALUE;
    const exec_resource *p = &t->resource;
    memset(r, 0, sizeof *r);
    r->kind = p->kind;
    if (p->kind == EXEC_OF_ARRAY || p->kind == EXEC_OF_LEVELS)
        r->of.array = p->array;
    if (p->kind == EXEC_OF_MEMORY) {
        r->of.linear.memory = p->memory;
        r->of.linear.format = p->format;
        r->of.linear.bytes = p->bytes;
    }
    if (p->kind == EXEC_OF_ROWS) {
        r->of.rows.memory = p->memory;
        r->of.rows.format = p->format;
        r->of.rows.width = p->width;
        r->of.rows.rows = p->rows;
        r->of.rows.pitch = p->pitch;
    }
    return EXEC_SUCCESS;
}

EXPORT exec_error cudaGetTextureObjectResourceDesc(resource *r, uint64_t object) {
    EXEC_CALL(tell_resource(r, object, false));
}
EXPORT exec_error cudaGetSurfaceObjectResourceDesc(resource *r, uint64_t object) {
    EXEC_CALL(tell_resource(r, object, true));
}

static exec_error tell_reading(void *how, size_t bytes, uint64_t object) {
    const exec_texture *t = exec_texture_of(object, false);
    if (how == NULL || t == NULL)
        return EXEC_INVALID_VALUE;
    exec_reading reading = t->how;
    if (reading.mode == EXEC_PROMOTED)
        reading.mode = EXEC_FRACTIONS;
    memcpy(how, &reading, bytes);
    return EXEC_SUCCESS;
}

EXPORT exec_error cudaGetTextureObjectTextureDesc(void *how, uint64_t object) {
    EXEC_CALL(tell_reading(how, READING, object));
}
EXPORT exec_error cudaGetTextureObjectTextureDesc_v2(void *how, uint64_t object) {
    EXEC_CALL(tell_reading(how, sizeof(exec_reading), object));
}

EXPORT exec_error cudaGetTextureObjectResourceViewDesc(exec_view *view, uint64_t object) {
    EXEC_CALL(exec_texture_view(view, object));
}

static exec_error line(size_t *elements, const exec_format *format) {
    const exec_error error = exec_texture_line(elements, format);
    return error != EXEC_SUCCESS && elements != NULL && format != NULL ? EXEC_INVALID_CHANNELS
                                                                       : error;
}

EXPORT exec_error cudaDeviceGetTexture1DLinearMaxWidth(size_t *elements, const exec_format *format,
                                                       int device) {
    EXEC_CALL(device == 0 ? line(elements, format) : EXEC_INVALID_DEVICE);
}
