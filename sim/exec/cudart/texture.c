/* Texture and surface objects. */
#include "sim/exec/cudart/array.h"

#include <string.h>

enum { OF_ARRAY, OF_LEVELS, OF_MEMORY, OF_ROWS };

typedef struct resource {
    int kind;
    union {
        void *array;
        struct {
            void *memory;
            channel_format format;
            size_t bytes;
        } linear;
        struct {
            void *memory;
            channel_format format;
            size_t width, rows, pitch;
        } rows;
    } of;
} resource;

typedef struct reading {
    int border[3], filter, mode, srgb;
    float color[4];
    int normalized;
    unsigned anisotropy;
} reading;

static exec_error not_simulated(const char *what) {
    exec_problem(EXEC_PROBLEM_NOT_SIMULATED, "%s of %s is not simulated", exec_call_name(), what);
    return EXEC_NOT_SUPPORTED;
}

static exec_error image_of(const resource *r, sim_image *m) {
    const array *a;
    switch (r->kind) {
    case OF_ARRAY:
        a = cudart_array_of(r->of.array);
        if (a != NULL)
            *m = a->image;
        return a != NULL ? EXEC_SUCCESS : EXEC_INVALID_VALUE;
    case OF_LEVELS:
        return not_simulated("an array with levels");
    case OF_MEMORY:
        m->memory = r->of.linear.memory;
        m->dimensions = 1;
        if (m->memory == NULL || !cudart_image_format(&r->of.linear.format, m))
            return EXEC_INVALID_VALUE;
        m->size[0] = (uint32_t)(r->of.linear.bytes / cudart_element(m));
        return m->size[0] > 0 ? EXEC_SUCCESS : EXEC_INVALID_VALUE;
    case OF_ROWS:
        *m = (sim_image){.memory = r->of.rows.memory,
                         .pitch = r->of.rows.pitch,
                         .size = {(uint32_t)r->of.rows.width, (uint32_t)r->of.rows.rows},
                         .dimensions = 2};
        if (m->memory == NULL || !cudart_image_format(&r->of.rows.format, m) || m->size[0] == 0 ||
            m->size[1] == 0 || m->pitch < m->size[0] * cudart_element(m))
            return EXEC_INVALID_VALUE;
        return EXEC_SUCCESS;
    default:
        return EXEC_INVALID_VALUE;
    }
}

static exec_error texture_of(const resource *r, const reading *how, sim_texture *t) {
    const exec_error error = image_of(r, &t->image);
    if (error != EXEC_SUCCESS)
        return error;
    if (how->srgb != 0)
        return not_simulated("sRGB");
    if (how->filter < 0 || how->filter > 1 || how->mode < 0 || how->mode > 1)
        return EXEC_INVALID_VALUE;
    for (int d = 0; d < 3; ++d) {
        if (how->border[d] < SIM_BORDER_WRAP || how->border[d] > SIM_BORDER_COLOR)
            return EXEC_INVALID_VALUE;
        t->border[d] = (sim_border)how->border[d];
    }
    t->linear = how->filter == 1;
    t->to_float = how->mode == 1;
    t->normalized = how->normalized != 0;
    memcpy(t->color, how->color, sizeof t->color);
    /* Memory without rows has no coordinates between elements, and is 0 outside. */
    if (r->kind == OF_MEMORY)
        t->border[0] = SIM_BORDER_COLOR;
    const bool whole = t->image.format != SIM_CHANNEL_FLOAT;
    if ((t->linear && whole && !t->to_float) || (t->to_float && whole && t->image.bits == 32))
        return EXEC_INVALID_VALUE;
    return EXEC_SUCCESS;
}

static exec_error give(uint64_t *object, const sim_texture *t) {
    *object = sim_texture_add(t);
    return *object != 0 ? EXEC_SUCCESS : EXEC_OUT_OF_MEMORY;
}

static exec_error create(uint64_t *object, const resource *r, const reading *how,
                         const void *view) {
    sim_texture t = {0};
    if (object == NULL || r == NULL || how == NULL)
        return EXEC_INVALID_VALUE;
    if (view != NULL)
        return not_simulated("a view");
    const exec_error error = texture_of(r, how, &t);
    return error == EXEC_SUCCESS ? give(object, &t) : error;
}

EXPORT exec_error cudaCreateTextureObject(uint64_t *object, const resource *r, const reading *how,
                                          const void *view) {
    EXEC_CALL(create(object, r, how, view));
}
EXPORT exec_error cudaCreateTextureObject_v2(uint64_t *object, const resource *r,
                                             const reading *how, const void *view) {
    EXEC_CALL(create(object, r, how, view));
}

static exec_error create_surface(uint64_t *object, const resource *r) {
    sim_texture t = {.surface = true};
    const array *a =
        object != NULL && r != NULL && r->kind == OF_ARRAY ? cudart_array_of(r->of.array) : NULL;
    if (a == NULL || (a->flags & ARRAY_SURFACE) == 0)
        return EXEC_INVALID_VALUE;
    t.image = a->image;
    return give(object, &t);
}

EXPORT exec_error cudaCreateSurfaceObject(uint64_t *object, const resource *r) {
    EXEC_CALL(create_surface(object, r));
}

/* Work that was given before still reads through it. */
static exec_error destroy(uint64_t object) {
    exec_streams_synchronize();
    return object == 0 || sim_texture_remove(object) ? EXEC_SUCCESS : EXEC_INVALID_VALUE;
}

EXPORT exec_error cudaDestroyTextureObject(uint64_t object) {
    EXEC_CALL(destroy(object));
}
EXPORT exec_error cudaDestroySurfaceObject(uint64_t object) {
    EXEC_CALL(destroy(object));
}
