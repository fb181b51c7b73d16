/* Texture and surface objects. */
#include "sim/exec/texture.h"

#include "sim/exec/driver/array.h"
#include "sim/exec/driver/driver.h"

#include <string.h>

typedef struct resource {
    int kind;
    union {
        void *array;
        struct {
            device_pointer memory;
            uint32_t format, channels;
            size_t bytes;
        } linear;
        struct {
            device_pointer memory;
            uint32_t format, channels;
            size_t width, rows, pitch;
        } rows;
        int reserved[32];
    } of;
    unsigned flags;
} resource;

typedef struct reading {
    int border[3], filter;
    unsigned flags, anisotropy;
    int level_filter;
    float level_bias, least_level, most_level, color[4];
    int reserved[12];
} reading;

/* Of a reading. */
enum { AS_INTEGERS = 1, NORMALIZED = 2, SRGB = 0x10, NO_TRILINEAR = 0x20, SEAMLESS = 0x40 };

static exec_error plain(const resource *r, exec_resource *p) {
    *p = (exec_resource){.kind = r->kind};
    switch (r->kind) {
    case EXEC_OF_ARRAY:
    case EXEC_OF_LEVELS:
        p->array = r->of.array;
        return EXEC_SUCCESS;
    case EXEC_OF_MEMORY:
        p->memory = at(r->of.linear.memory);
        p->bytes = r->of.linear.bytes;
        return driver_format_in(r->of.linear.format, r->of.linear.channels, &p->format);
    case EXEC_OF_ROWS:
        p->memory = at(r->of.rows.memory);
        p->width = r->of.rows.width;
        p->rows = r->of.rows.rows;
        p->pitch = r->of.rows.pitch;
        return driver_format_in(r->of.rows.format, r->of.rows.channels, &p->format);
    default:
        return EXEC_SUCCESS;
    }
}

static exec_error create(uint64_t *object, const resource *r, const reading *how,
                         const exec_view *view) {
    exec_resource p;
    const unsigned known = AS_INTEGERS | NORMALIZED | SRGB | NO_TRILINEAR | SEAMLESS;
    if (object == NULL || r == NULL || how == NULL || (how->flags & ~known) != 0)
        return EXEC_INVALID_VALUE;
    const exec_error error = plain(r, &p);
    if (error != EXEC_SUCCESS)
        return error;
    exec_reading e = {.filter = how->filter,
                      .mode = (how->flags & AS_INTEGERS) != 0 ? EXEC_AS_IT_IS : EXEC_PROMOTED,
                      .srgb = (how->flags & SRGB) != 0,
                      .normalized = (how->flags & NORMALIZED) != 0,
                      .anisotropy = how->anisotropy,
                      .level_filter = how->level_filter,
                      .level_bias = how->level_bias,
                      .least_level = how->least_level,
                      .most_level = how->most_level,
                      .no_trilinear = (how->flags & NO_TRILINEAR) != 0,
                      .seamless = (how->flags & SEAMLESS) != 0};
    memcpy(e.border, how->border, sizeof e.border);
    memcpy(e.color, how->color, sizeof e.color);
    return exec_texture_make(object, &p, &e, view);
}

EXPORT exec_error cuTexObjectCreate(uint64_t *object, const resource *r, const reading *how,
                                    const exec_view *view) {
    DRIVER_CALL(create(object, r, how, view));
}
EXPORT exec_error cuTexObjectDestroy(uint64_t object) {
    DRIVER_CALL(exec_texture_free(object, false));
}

static exec_error create_surface(uint64_t *object, const resource *r) {
    exec_resource p;
    if (object == NULL || r == NULL)
        return EXEC_INVALID_VALUE;
    const exec_error error = plain(r, &p);
    return error == EXEC_SUCCESS ? exec_surface_make(object, &p) : error;
}

EXPORT exec_error cuSurfObjectCreate(uint64_t *object, const resource *r) {
    DRIVER_CALL(create_surface(object, r));
}
EXPORT exec_error cuSurfObjectDestroy(uint64_t object) {
    DRIVER_CALL(exec_texture_free(object, true));
}

/* ---- what they were made of ---- */

static exec_error tell_resource(resource *r, uint64_t object, bool surface) {
    const exec_texture *t = exec_texture_of(object, surface);
    if (r == NULL || t == NULL)
        return EXEC_INVALID_VALUE;
    const exec_resource *p = &t->resource;
    const device_pointer memory = (device_pointer)(uintptr_t)p->memory;
    memset(r, 0, sizeof *r);
    r->kind = p->kind;
    if (p->kind == EXEC_OF_ARRAY || p->kind == EXEC_OF_LEVELS)
        r->of.array = p->array;
    if (p->kind == EXEC_OF_MEMORY) {
        r->of.linear.memory = memory;
        r->of.linear.bytes = p->bytes;
        driver_format_out(&p->format, &r->of.linear.format, &r->of.linear.channels);
    }
    if (p->kind == EXEC_OF_ROWS) {
        r->of.rows.memory = memory;
        r->of.rows.width = p->width;
        r->of.rows.rows = p->rows;
        r->of.rows.pitch = p->pitch;
        driver_format_out(&p->format, &r->of.rows.format, &r->of.rows.channels);
    }
    return EXEC_SUCCESS;
}

EXPORT exec_error cuTexObjectGetResourceDesc(resource *r, uint64_t object) {
    DRIVER_CALL(tell_resource(r, object, false));
}
EXPORT exec_error cuSurfObjectGetResourceDesc(resource *r, uint64_t object) {
    DRIVER_CALL(tell_resource(r, object, true));
}

static exec_error tell_reading(reading *how, uint64_t object) {
    const exec_texture *t = exec_texture_of(object, false);
    if (how == NULL || t == NULL)
        return EXEC_INVALID_VALUE;
    const exec_reading *e = &t->how;
    *how = (reading){.filter = e->filter,
                     .flags = (e->mode == EXEC_AS_IT_IS ? AS_INTEGERS : 0u) |
                              (e->normalized != 0 ? NORMALIZED : 0u) |
                              (e->no_trilinear != 0 ? NO_TRILINEAR : 0u) |
                              (e->seamless != 0 ? SEAMLESS : 0u) | (e->srgb != 0 ? SRGB : 0u),
                     .anisotropy = e->anisotropy,
                     .level_filter = e->level_filter,
                     .level_bias = e->level_bias,
                     .least_level = e->least_level,
                     .most_level = e->most_level};
    memcpy(how->border, e->border, sizeof how->border);
    memcpy(how->color, e->color, sizeof how->color);
    return EXEC_SUCCESS;
}

EXPORT exec_error cuTexObjectGetTextureDesc(reading *how, uint64_t object) {
    DRIVER_CALL(tell_reading(how, object));
}

EXPORT exec_error cuTexObjectGetResourceViewDesc(exec_view *view, uint64_t object) {
    DRIVER_CALL(exec_texture_view(view, object));
}

static exec_error line(size_t *elements, uint32_t format, uint32_t channels) {
    exec_format f;
    const exec_error error = driver_format_in(format, channels, &f);
    return error == EXEC_SUCCESS ? exec_texture_line(elements, &f) : error;
}

EXPORT exec_error cuDeviceGetTexture1DLinearMaxWidth(size_t *elements, uint32_t format,
                                                     uint32_t channels, int device) {
    DRIVER_CALL(device == 0 ? line(elements, format, channels) : EXEC_INVALID_DEVICE);
}
