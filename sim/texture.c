#include "sim/texture.h"

#include "sim/trace.h"

#include <float.h>
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
    if (t->image.dimensions != f->dimensions || t->image.layered != f->layered ||
        t->image.cube != f->cube)
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

/* A channel's bits as a fetch gives them. */
static uint32_t channel(const sim_texture *t, const char *at) {
    const sim_image *m = &t->image;
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
    return bits_of(fraction < -1 ? -1 : fraction);
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

static void element(const sim_texture *t, const sim_fetch *f, const int64_t index[3],
                    uint32_t out[4], const sim_site *site) {
    const sim_image *m = &t->image;
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
        out[c] = channel(t, m->memory + offset + c * m->bits / 8);
}

/* ---- filters */

/* A coordinate counted in elements. */
static double scaled(const sim_texture *t, const sim_fetch *f, uint32_t d) {
    const double n = t->image.size[d], x = (double)f->at[d] * (t->normalized ? n : 1);
    const bool wraps = t->normalized && t->border[d] == SIM_BORDER_WRAP;
    const double whole = wraps ? x - n * floor(x / n) : x;
    return !(whole == whole)     ? 0
           : whole < -MOST_INDEX ? -MOST_INDEX
           : whole > MOST_INDEX  ? MOST_INDEX
                                 : whole;
}

enum {
    ONE = 256,     /* a weight of 1: weights have 8 bits behind the point */
    HELD = 24 + 4, /* bits of an element that count, from the largest exponent of a plane on */
    BETWEEN = 2,   /* bits that a plane's sum has below those when it meets the other's */
    CORNERS = 8,
    NOTHING = -10000, /* the exponent of a sum of zeros */
    PLANE = 4,
};

static int32_t share(int32_t weight, int32_t part, int32_t tie) {
    return (weight * part + ONE / 2 - 1 + tie) / ONE;
}

/*
 * The weights of the corners of a cell, for fractions of 1/256 in x, y and z. They are the weights
 * that an H200 gives a single element of 1 among zeros: all 65,536 in two dimensions, 262,144 in
 * three. Each is rounded to 8 bits such that all together are 1: z and x divide 1, then y divides
 * each quarter. Half goes to the larger x, and of the smaller x to the smaller y.
 */
static void corner_weights(const int32_t fraction[3], int32_t weight[CORNERS]) {
    const int32_t x = fraction[0], y = fraction[1], z = fraction[2];
    for (int32_t corner = 0; corner < CORNERS; ++corner) {
        const int32_t right = corner & 1, depth = corner >> 2 != 0 ? z : ONE - z;
        const int32_t of_right = share(depth, x, 1), quarter = right ? of_right : depth - of_right;
        const int32_t lower = share(quarter, y, right);
        weight[corner] = (corner >> 1 & 1) != 0 ? lower : quarter - lower;
    }
}

/* value * 2^(exponent - HELD) / ONE */
typedef struct plane_sum {
    int64_t value;
    int exponent;
} plane_sum;

/* Elements are aligned to the largest of them and cut, then multiplied and added exactly. */
static plane_sum weigh(const float texel[PLANE], const int32_t weight[PLANE]) {
    plane_sum sum = {0, NOTHING};
    for (int32_t i = 0; i < PLANE; ++i)
        if (weight[i] != 0 && texel[i] != 0)
            sum.exponent =
                sum.exponent > ilogbf(texel[i]) + 1 ? sum.exponent : ilogbf(texel[i]) + 1;
    for (int32_t i = 0; i < PLANE && sum.exponent != NOTHING; ++i)
        sum.value += weight[i] * (int64_t)ldexp((double)texel[i], HELD - sum.exponent);
    return sum;
}

/*
 * The sum of weighted elements, finite ones, as an H200 has it: of one and of two dimensions all of
 * 524,288 with four classes of numbers, up to 250 binades apart; of three all where elements have
 * one exponent, and all but one in 800 where they are up to 40 binades apart. Subnormal sums are
 * zero.
 */
static float filtered(const float texel[CORNERS], const int32_t weight[CORNERS]) {
    const plane_sum near = weigh(texel, weight), far = weigh(texel + PLANE, weight + PLANE);
    const int exponent = near.exponent > far.exponent ? near.exponent : far.exponent;
    if (exponent == NOTHING)
        return 0;
    const double sum = floor(ldexp((double)near.value, near.exponent - exponent + BETWEEN)) +
                       floor(ldexp((double)far.value, far.exponent - exponent + BETWEEN));
    int leading;
    const double digits = round(ldexp(frexp(sum, &leading), FLT_MANT_DIG));
    const float result =
        (float)(ldexp(digits, leading - FLT_MANT_DIG + exponent - HELD - BETWEEN) / ONE);
    return fabsf(result) < FLT_MIN ? copysignf(0, result) : result;
}

/* Inf and NaN count as in a sum of fp32. */
static float weighted_mean(const float texel[CORNERS], const int32_t weight[CORNERS]) {
    float special = 0;
    for (int32_t i = 0; i < CORNERS; ++i)
        if (weight[i] != 0 && !isfinite(texel[i]))
            special += texel[i];
    return isfinite(special) ? filtered(texel, weight) : special;
}

/* Between 2^dimensions elements. */
static void interpolate(const sim_texture *t, const sim_fetch *f, uint32_t out[4],
                        const sim_site *site) {
    int32_t fraction[3] = {0}, weight[CORNERS];
    int64_t first[3] = {0};
    float texel[4][CORNERS] = {{0}};
    for (uint32_t d = 0; d < f->dimensions; ++d) {
        const double at = floor((scaled(t, f, d) - 0.5) * ONE + 0.5);
        first[d] = (int64_t)floor(at / ONE);
        fraction[d] = (int32_t)((int64_t)at - first[d] * ONE);
    }
    corner_weights(fraction, weight);
    for (uint32_t corner = 0; corner < CORNERS; ++corner) {
        int64_t index[3] = {0};
        uint32_t bits[4] = {0};
        if (weight[corner] == 0)
            continue;
        for (uint32_t d = 0; d < f->dimensions; ++d)
            index[d] = first[d] + (corner >> d & 1);
        element(t, f, index, bits, site);
        for (uint32_t c = 0; c < t->image.channels; ++c)
            texel[c][corner] = float_of(bits[c]);
    }
    for (uint32_t c = 0; c < t->image.channels; ++c)
        out[c] = bits_of(weighted_mean(texel[c], weight));
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

void sim_texture_fetch(uint64_t object, const sim_fetch *f, uint32_t result[4],
                       const sim_site *site) {
    const sim_texture *t = object_of(object, f, false, site);
    const sim_fetch face = t->image.cube ? on_face(&t->image, f) : *f;
    int64_t index[3] = {0};
    f = &face;
    memset(result, 0, 4 * sizeof result[0]);
    if (t->linear && !f->whole) {
        interpolate(t, f, result, site);
        return;
    }
    for (uint32_t d = 0; d < f->dimensions; ++d)
        index[d] = f->whole ? f->index[d] : (int64_t)floor(scaled(t, f, d));
    element(t, f, index, result, site);
}

/* ---- surfaces */

char *sim_surface_address(uint64_t object, const sim_fetch *f, uint32_t bytes, sim_outside outside,
                          const sim_site *site) {
    const sim_texture *t = object_of(object, f, true, site);
    const sim_image *m = &t->image;
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
