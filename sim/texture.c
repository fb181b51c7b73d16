#include "sim/texture.h"

#include "sim/texture_filter.h"
#include "sim/trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OUTSIDE = -1, MOST_INDEX = 1 << 30 };

/* ---- objects: places in a table, counted from 1 */

static sim_texture **objects;
static size_t n_objects;

uint64_t sim_texture_add(const sim_texture *texture) {
    size_t i = 0;
    while (i < n_objects && objects[i] != NULL)
        ++i;
    sim_texture *copy = malloc(sizeof *copy);
    sim_texture **more = i < n_objects ? objects : realloc(objects, (i + 1) * sizeof(void *));
    if (more != NULL)
        objects = more;
    if (more == NULL || copy == NULL) {
        free(copy);
        return 0;
    }
    n_objects = i < n_objects ? n_objects : i + 1;
    *copy = *texture;
    objects[i] = copy;
    return i + 1;
}

static sim_texture *find(uint64_t object) {
    return object - 1 < n_objects ? objects[object - 1] : NULL;
}

bool sim_texture_remove(uint64_t object) {
    sim_texture *t = find(object);
    if (t == NULL)
        return false;
    free(t);
    objects[object - 1] = NULL;
    return true;
}

/* The object of an access, which must have as many dimensions. */
static const sim_texture *object_of(uint64_t object, const sim_fetch *f, bool surface,
                                    const sim_site *site) {
    const sim_texture *t = find(object);
    const char *kind = surface ? "wrong surface" : "wrong texture";
    if (t == NULL || t->surface != surface)
        sim_trap(kind, "its object is none, or is no longer", site->file, site->line);
    if (t->level[0].dimensions != f->dimensions || t->level[0].layered != f->layered ||
        t->level[0].cube != f->cube)
        sim_trap(kind, "its image has other dimensions than the instruction", site->file,
                 site->line);
    return t;
}

/* ---- elements */

static float of_half(uint32_t bits) {
    const int32_t e = (int32_t)(bits >> 10 & 31);
    const float m = (float)(bits & 1023), sign = (bits & 0x8000) != 0 ? -1 : 1;
    return sign * (e == 31  ? (m != 0 ? NAN : INFINITY)
                   : e == 0 ? ldexpf(m, -24)
                            : ldexpf(m + 1024, e - 25));
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Of IEC 61966-2-1. */
static float of_srgb(float value) {
    return (float)(value <= 0.04045f ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4));
}

/* The bits of channel c as a fetch gives them. */
static uint32_t channel(const sim_texture *t, const char *at, uint32_t c) {
    const sim_image *m = &t->level[0];
    uint32_t bits = 0;
    memcpy(&bits, at, m->bits / 8);
    if (m->format == SIM_CHANNEL_FLOAT)
        return m->bits == 16 ? bits_of(of_half(bits)) : bits;
    const bool is_signed = m->format == SIM_CHANNEL_SIGNED;
    const uint32_t top = UINT32_C(1) << (m->bits - 1);
    const int64_t number = is_signed ? (int64_t)(bits ^ top) - top : (int64_t)bits;
    if (!t->to_float)
        return (uint32_t)number;
    const float fraction = (float)number / (float)(is_signed ? top - 1 : 2 * top - 1);
    return bits_of(t->srgb && c < 3 ? of_srgb(fraction) : fraction < -1 ? -1 : fraction);
}

/* The index behind a border's rule; OUTSIDE: the color. */
static int64_t within(int64_t i, sim_border border, bool normalized, int64_t n) {
    if (border == SIM_BORDER_COLOR)
        return i >= 0 && i < n ? i : OUTSIDE;
    if (border == SIM_BORDER_WRAP && normalized)
        return ((i % n) + n) % n;
    if (border == SIM_BORDER_MIRROR && normalized) {
        const int64_t twice = ((i % (2 * n)) + 2 * n) % (2 * n);
        return twice < n ? twice : 2 * n - 1 - twice;
    }
    return i < 0 ? 0 : i < n ? i : n - 1;
}

static int64_t clamp(int64_t i, int64_t n) {
    return i < 0 ? 0 : i < n ? i : n - 1;
}

/* Layers stand where the next dimension would; there is no filter between them. Of a layered cube,
 * f->layer has become that of a face. */
static size_t layer_offset(const sim_image *m, const sim_fetch *f) {
    const bool layers = m->layered || m->cube;
    return layers ? (size_t)clamp(f->layer, m->size[m->dimensions]) * m->slice : 0;
}

static void element(const sim_texture *t, const sim_image *m, const sim_fetch *f,
                    const int64_t index[3], uint32_t out[4], const sim_site *site) {
    size_t offset = layer_offset(m, f);
    for (uint32_t d = 0; d < m->dimensions; ++d) {
        const int64_t i = within(index[d], t->border[d], t->normalized, m->size[d]);
        if (i == OUTSIDE) {
            for (uint32_t c = 0; c < m->channels; ++c)
                out[c] = bits_of(t->color[c]);
            return;
        }
        offset += (size_t)i * (d == 0 ? m->channels * m->bits / 8 : d == 1 ? m->pitch : m->slice);
    }
    trace_access(m->memory + offset, m->channels * m->bits / 8, SIM_READS, site->file, site->line);
    for (uint32_t c = 0; c < m->channels; ++c)
        out[c] = channel(t, m->memory + offset + c * m->bits / 8, c);
}

/* ---- filters */

/* A coordinate counted in elements. */
static double scaled(const sim_texture *t, const sim_image *m, const sim_fetch *f, uint32_t d) {
    const double n = m->size[d], x = (double)f->at[d] * (t->normalized ? n : 1);
    const bool wraps = t->normalized && t->border[d] == SIM_BORDER_WRAP;
    const double whole = wraps ? x - n * floor(x / n) : x;
    return !(whole == whole)     ? 0
           : whole < -MOST_INDEX ? -MOST_INDEX
           : whole > MOST_INDEX  ? MOST_INDEX
                                 : whole;
}

/* Between 2^dimensions elements. */
static void interpolate(const sim_texture *t, const sim_image *m, const sim_fetch *f,
                        uint32_t out[4], const sim_site *site) {
    int32_t fraction[3] = {0}, weight[FILTER_CORNERS];
    int64_t first[3] = {0};
    float texel[4][FILTER_CORNERS] = {{0}};
    for (uint32_t d = 0; d < f->dimensions; ++d) {
        const double at = floor((scaled(t, m, f, d) - 0.5) * FILTER_ONE + 0.5);
        first[d] = (int64_t)floor(at / FILTER_ONE);
        fraction[d] = (int32_t)((int64_t)at - first[d] * FILTER_ONE);
    }
    filter_weights(fraction, weight);
    for (uint32_t corner = 0; corner < FILTER_CORNERS; ++corner) {
        int64_t index[3] = {0};
        uint32_t bits[4] = {0};
        if (weight[corner] == 0)
            continue;
        for (uint32_t d = 0; d < f->dimensions; ++d)
            index[d] = first[d] + (corner >> d & 1);
        element(t, m, f, index, bits, site);
        for (uint32_t c = 0; c < m->channels; ++c)
            texel[c][corner] = float_of(bits[c]);
    }
    for (uint32_t c = 0; c < m->channels; ++c)
        out[c] = bits_of(filter_mean(texel[c], weight));
}

/* The face that a direction meets, as its layer, and where: the table of the CUDA programming guide
 * for cubemap textures. It leaves open which of two coordinates counts that are as great; z before
 * y before x here, as in Vulkan. */
static sim_fetch on_face(const sim_image *m, const sim_fetch *f) {
    const float x = f->at[0], y = f->at[1], z = f->at[2];
    const float ax = fabsf(x), ay = fabsf(y), az = fabsf(z);
    const uint32_t axis = az >= ax && az >= ay ? 2 : ay >= ax ? 1 : 0;
    const bool back = f->at[axis] < 0;
    const float size = axis == 2 ? az : axis == 1 ? ay : ax;
    const float s = axis == 0 ? (back ? z : -z) : axis == 1 ? x : (back ? -x : x);
    const float t = axis == 1 ? (back ? -z : z) : -y;
    const uint32_t faces = 6, layers = m->layered ? m->size[2] / faces : 1;
    sim_fetch face = *f;
    face.at[0] = (s / size + 1) / 2;
    face.at[1] = (t / size + 1) / 2;
    face.layer = (uint32_t)clamp(m->layered ? f->layer : 0, layers) * faces + 2 * axis + back;
    return face;
}

static void sample(const sim_texture *t, const sim_image *m, const sim_fetch *f, uint32_t result[4],
                   const sim_site *site) {
    int64_t index[3] = {0};
    memset(result, 0, 4 * sizeof result[0]);
    if (t->linear && !f->whole) {
        interpolate(t, m, f, result, site);
        return;
    }
    for (uint32_t d = 0; d < f->dimensions; ++d)
        index[d] = f->whole ? f->index[d] : (int64_t)floor(scaled(t, m, f, d));
    element(t, m, f, index, result, site);
}

/* Levels are weighed as elements are. */
static void sample_levels(const sim_texture *t, const sim_fetch *f, uint32_t result[4],
                          const sim_site *site) {
    const float asked = f->level + t->bias;
    const float bounded = fmaxf(t->least, fminf(asked, t->most));
    const double level = fmax(0, fmin(bounded, (double)(t->n_levels - 1)));
    const double steps = floor(level * 256 + 0.5);
    const uint32_t first = (uint32_t)(t->mixes_levels ? steps / 256 : floor(level + 0.5));
    const double weight = t->mixes_levels ? steps / 256 - first : 0;
    uint32_t second[4];
    sample(t, &t->level[first], f, result, site);
    if (weight == 0)
        return;
    sample(t, &t->level[first + 1], f, second, site);
    for (uint32_t c = 0; c < t->level[0].channels; ++c)
        result[c] = bits_of((float)((1 - weight) * (double)float_of(result[c]) +
                                    weight * (double)float_of(second[c])));
}

void sim_texture_fetch(uint64_t object, const sim_fetch *f, uint32_t result[4],
                       const sim_site *site) {
    const sim_texture *t = object_of(object, f, false, site);
    const sim_fetch face = t->level[0].cube ? on_face(&t->level[0], f) : *f;
    sample_levels(t, &face, result, site);
}

void sim_texture_gather(uint64_t object, const sim_fetch *f, uint32_t channel_of,
                        uint32_t result[4], const sim_site *site) {
    static const int order[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    const sim_texture *t = object_of(object, f, false, site);
    const sim_image *m = &t->level[0];
    for (int i = 0; i < 4; ++i) {
        uint32_t all[4] = {0};
        const int64_t index[3] = {(int64_t)floor(scaled(t, m, f, 0) - 0.5) + order[i][0],
                                  (int64_t)floor(scaled(t, m, f, 1) - 0.5) + order[i][1]};
        element(t, m, f, index, all, site);
        result[i] = all[channel_of];
    }
}

/* ---- surfaces */

char *sim_surface_address(uint64_t object, const sim_fetch *f, uint32_t bytes, sim_outside outside,
                          const sim_site *site) {
    const sim_texture *t = object_of(object, f, true, site);
    const sim_image *m = &t->level[0];
    const size_t width = (size_t)m->size[0] * m->channels * m->bits / 8;
    size_t offset = layer_offset(m, f);
    bool inside = true;
    if (f->index[0] % (int32_t)bytes != 0)
        sim_trap("wrong surface",
                 "its first coordinate counts bytes, and is no multiple of those "
                 "that are accessed",
                 site->file, site->line);
    for (uint32_t d = 0; d < f->dimensions; ++d) {
        const int64_t n = d == 0 ? (int64_t)(width / bytes) : m->size[d];
        const int64_t at = d == 0 ? f->index[0] / (int32_t)bytes : f->index[d];
        inside &= at >= 0 && at < n;
        offset += (size_t)clamp(at, n) * (d == 0 ? bytes : d == 1 ? m->pitch : m->slice);
    }
    if (!inside && outside == SIM_OUTSIDE_TRAP)
        sim_trap("wrong surface", "its coordinates lie outside of the image", site->file,
                 site->line);
    return inside || outside == SIM_OUTSIDE_CLAMP ? m->memory + offset : NULL;
}
