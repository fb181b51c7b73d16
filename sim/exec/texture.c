#include "sim/exec/texture.h"

#include "sim/exec/allocate.h"
#include "sim/exec/call.h"
#include "sim/exec/levels.h"
#include "sim/exec/report.h"
#include "sim/exec/stream.h"
#include "sim/exec/table.h"

#include <stdlib.h>
#include <string.h>

static exec_table objects; /* exec_texture * by their numbers */

static const void *key_of(uint64_t object) {
    return (const void *)(uintptr_t)object;
}

const exec_texture *exec_texture_of(uint64_t object, bool surface) {
    const exec_texture *t = exec_table_get(&objects, key_of(object));
    return t != NULL && t->surface == surface ? t : NULL;
}

exec_error exec_texture_view(exec_view *view, uint64_t object) {
    const exec_texture *t = exec_texture_of(object, false);
    if (view == NULL || t == NULL)
        return EXEC_INVALID_VALUE;
    if (t->viewed)
        *view = t->view;
    return EXEC_SUCCESS;
}

static exec_error not_simulated(const char *what) {
    exec_problem(EXEC_PROBLEM_NOT_SIMULATED, "%s of %s is not simulated", exec_call_name(), what);
    return EXEC_NOT_SUPPORTED;
}

static uint64_t most_in_line(const sim_image *image) {
    const uint64_t by_bytes = (UINT64_C(1) << 32) / exec_image_element(image);
    return by_bytes < 1 << 30 ? by_bytes : 1 << 30;
}

exec_error exec_texture_line(size_t *elements, const exec_format *format) {
    sim_image image;
    if (elements == NULL || format == NULL || !exec_image_format(format, &image))
        return EXEC_INVALID_VALUE;
    *elements = most_in_line(&image);
    return EXEC_SUCCESS;
}

/* Memory that textures read begins at multiples of 512 bytes, as allocations do on a GPU. */
static bool is_aligned(const void *memory) {
    enum { ALIGNMENT = 512 };
    void *low = NULL;
    size_t bytes;
    (void)exec_piece_of(memory, &low, &bytes);
    return memory != NULL && ((uintptr_t)memory - (uintptr_t)low) % ALIGNMENT == 0;
}

/* A single row needs no pitch. */
static bool is_rows(const exec_resource *r, sim_image *m) {
    enum { PITCH_ALIGNMENT = 32 };
    m->dimensions = 2;
    m->size[0] = (uint32_t)r->width;
    m->size[1] = (uint32_t)r->rows;
    if (!is_aligned(r->memory) || !exec_image_format(&r->format, m) || r->width == 0 ||
        r->rows == 0 || r->pitch % PITCH_ALIGNMENT != 0)
        return false;
    const size_t bytes = r->width * exec_image_element(m);
    m->pitch = r->pitch == 0 && r->rows == 1 ? bytes : r->pitch;
    return m->pitch >= bytes;
}

static exec_error images_of(const exec_levels *l, sim_texture *t) {
    for (uint32_t i = 0; l != NULL && i < l->n; ++i)
        t->level[i] = exec_array_of(l->level[i])->image;
    t->n_levels = l != NULL ? l->n : 0;
    return l != NULL ? EXEC_SUCCESS : EXEC_INVALID_VALUE;
}

static exec_error image_of(const exec_resource *r, sim_image *m) {
    const exec_array *a;
    *m = (sim_image){.memory = r->memory};
    switch (r->kind) {
    case EXEC_OF_ARRAY:
        a = exec_array_of(r->array);
        if (a != NULL)
            *m = a->image;
        return a != NULL ? EXEC_SUCCESS : EXEC_INVALID_VALUE;
    case EXEC_OF_MEMORY:
        m->dimensions = 1;
        if (!is_aligned(m->memory) || !exec_image_format(&r->format, m) ||
            r->bytes / exec_image_element(m) > most_in_line(m))
            return EXEC_INVALID_VALUE;
        m->size[0] = (uint32_t)(r->bytes / exec_image_element(m));
        return m->size[0] > 0 ? EXEC_SUCCESS : EXEC_INVALID_VALUE;
    case EXEC_OF_ROWS:
        return is_rows(r, m) ? EXEC_SUCCESS : EXEC_INVALID_VALUE;
    default:
        return EXEC_INVALID_VALUE;
    }
}

static exec_error texture_of(const exec_resource *r, const exec_reading *how, const exec_view *view,
                             sim_texture *t) {
    t->n_levels = 1;
    exec_error error = r->kind == EXEC_OF_LEVELS ? images_of(exec_levels_of(r->array), t)
                                                 : image_of(r, &t->level[0]);
    if (error == EXEC_SUCCESS && view != NULL)
        error = r->kind == EXEC_OF_ARRAY || r->kind == EXEC_OF_LEVELS ? exec_view_apply(view, t)
                                                                      : EXEC_INVALID_VALUE;
    if (error != EXEC_SUCCESS)
        return error;
    const sim_image *m = &t->level[0];
    t->srgb = how->srgb != 0;
    if (t->srgb && (m->format != SIM_CHANNEL_UNSIGNED || m->bits != 8))
        return not_simulated("sRGB in other than unsigned bytes");
    if (r->kind == EXEC_OF_LEVELS && how->normalized == 0)
        return EXEC_INVALID_VALUE;
    if (how->anisotropy > 1 && r->kind == EXEC_OF_LEVELS)
        return not_simulated("an anisotropic filter");
    if (how->filter < 0 || how->filter > 1 || how->level_filter < 0 || how->level_filter > 1 ||
        how->mode < EXEC_AS_IT_IS || how->mode > EXEC_PROMOTED || (how->seamless != 0 && !m->cube))
        return EXEC_INVALID_VALUE;
    if (how->filter == 1 && how->seamless != 0)
        return not_simulated("a cube without seams");
    for (uint32_t d = 0; d < 3; ++d) {
        const bool known = how->border[d] >= SIM_BORDER_WRAP && how->border[d] <= SIM_BORDER_COLOR;
        if (!known && d < m->dimensions)
            return EXEC_INVALID_VALUE;
        t->border[d] = known ? (sim_border)how->border[d] : SIM_BORDER_CLAMP;
    }
    t->linear = how->filter == 1;
    t->mixes_levels = how->level_filter == 1;
    t->bias = how->level_bias;
    t->least = how->least_level;
    t->most = how->most_level;
    /* A cube's coordinates are a direction, and those on a face fractions of it. */
    t->normalized = how->normalized != 0 || m->cube;
    memcpy(t->color, how->color, sizeof t->color);
    /* Memory without rows has no coordinates between elements, and is 0 outside. */
    if (r->kind == EXEC_OF_MEMORY)
        t->border[0] = SIM_BORDER_COLOR;
    const bool whole = m->format != SIM_CHANNEL_FLOAT, wide = m->bits == 32;
    t->to_float = how->mode == EXEC_FRACTIONS || (how->mode == EXEC_PROMOTED && !wide);
    if (t->to_float && wide && whole)
        return EXEC_INVALID_VALUE;
    if (whole && !t->to_float && (t->linear || (t->mixes_levels && t->n_levels > 1))) {
        t->linear = t->mixes_levels = false;
        exec_problem(EXEC_PROBLEM_MISUSE,
                     "%s: a linear filter of elements that stay integers; CUDA does not say what "
                     "that is, and the nearest element is taken here",
                     exec_call_name());
    }
    return EXEC_SUCCESS;
}

static exec_error give(uint64_t *object, const sim_texture *t, const exec_texture *made) {
    exec_texture *kept = malloc(sizeof *kept);
    const uint64_t number = kept != NULL ? sim_texture_add(t) : 0;
    if (number == 0) {
        free(kept);
        return EXEC_OUT_OF_MEMORY;
    }
    *kept = *made;
    const exec_error error = exec_error_of(exec_table_put(&objects, key_of(number), kept));
    if (error == EXEC_SUCCESS) {
        *object = number;
    } else {
        (void)sim_texture_remove(number);
        free(kept);
    }
    return error;
}

exec_error exec_texture_make(uint64_t *object, const exec_resource *r, const exec_reading *how,
                             const exec_view *view) {
    sim_texture t = {0};
    const exec_error error = texture_of(r, how, view, &t);
    exec_texture made = {.resource = *r, .how = *how, .viewed = view != NULL};
    for (int d = 0; d < 3; ++d)
        made.how.border[d] = (int)t.border[d];
    if (r->kind == EXEC_OF_MEMORY)
        made.how.border[0] = how->border[0];
    if (r->kind == EXEC_OF_ROWS && r->rows == 1)
        made.resource.pitch = 0; /* CUDA forgets it */
    made.how.normalized = how->normalized != 0;
    made.how.no_trilinear = how->no_trilinear != 0;
    if (view != NULL)
        made.view = *view;
    return error == EXEC_SUCCESS ? give(object, &t, &made) : error;
}

/* Of a surface the faces of cubes are layers. */
exec_error exec_surface_make(uint64_t *object, const exec_resource *r) {
    sim_texture t = {.surface = true};
    const exec_array *a = r->kind == EXEC_OF_ARRAY ? exec_array_of(r->array) : NULL;
    if (a == NULL)
        return EXEC_INVALID_VALUE;
    if ((a->flags & EXEC_ARRAY_SURFACE) == 0)
        exec_problem(EXEC_PROBLEM_MISUSE,
                     "%s: the array was made without cudaArraySurfaceLoadStore, or "
                     "CUDA_ARRAY3D_SURFACE_LDST, which surfaces need",
                     exec_call_name());
    t.n_levels = 1;
    t.level[0] = a->image;
    t.level[0].layered |= a->image.cube;
    t.level[0].cube = false;
    return give(object, &t, &(exec_texture){.surface = true, .resource = *r});
}

exec_error exec_texture_free(uint64_t object, bool surface) {
    exec_texture *t = exec_table_get(&objects, key_of(object));
    exec_streams_synchronize();
    if (object == 0)
        return EXEC_SUCCESS;
    if (t == NULL || t->surface != surface || !sim_texture_remove(object)) {
        exec_problem(EXEC_PROBLEM_MISUSE, "%s: there is no such object, or no longer",
                     exec_call_name());
        return EXEC_SUCCESS;
    }
    exec_table_remove(&objects, key_of(object));
    free(t);
    return EXEC_SUCCESS;
}
