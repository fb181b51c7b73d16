#include "core/fill.h"

#include "core/parallel.h"

#include <math.h>

static const double sqrt_3 = 0x1.bb67ae8584caap0;

/* Elements of wide data are within 2^±WIDE of the scale; one of EVERY in zeros is 0. Four terms of
 * cancel, of about four deviations, do not change the sign of 1 + z/STEADY. Data of repeat have so
 * many values. */
enum { WIDE = 10, EVERY = 4, STEADY = 16, VALUES = 4 };

bool assay_fill_has_exact(const assay_tensor_spec *spec) {
    return spec->exact_limit >= 1 || spec->dtype == ASSAY_I32;
}

/* How many odd magnitudes fill=exact chooses from. Integers below 2^p are exact in the dtype. */
static uint64_t odd_magnitudes(const assay_tensor_spec *spec) {
    const double held = ldexp(1, assay_dtype_significand(spec->dtype)) - 1;
    const double limit = spec->exact_limit < held ? spec->exact_limit : held;
    return ((uint64_t)limit + 1) / 2;
}

/* In 0..count-1, for bits below 2^63. */
static uint64_t scaled(uint64_t bits, uint64_t count) {
    return (uint64_t)(((unsigned __int128)bits * count) >> 63);
}

static double odd_integer(uint64_t bits, uint64_t magnitudes) {
    const uint64_t k = scaled(bits >> 1, magnitudes);
    const double magnitude = (double)(2 * k + 1);
    return (bits & 1) != 0 ? -magnitude : magnitude;
}

/* Elements between one row's beginning and the next; a tensor of one axis or none has one row. */
static int64_t row_length(const assay_tensor_spec *spec) {
    return spec->rank > 1 ? spec->shape[spec->rank - 1] : assay_spec_count(spec);
}

assay_fill fill_of_row(assay_fill fill, int64_t row) {
    static const assay_fill turns[] = {ASSAY_FILL_NORMAL, ASSAY_FILL_WIDE, ASSAY_FILL_ZEROS,
                                       ASSAY_FILL_DENORMAL, ASSAY_FILL_HUGE};
    return fill == ASSAY_FILL_MIXED ? turns[row % (int64_t)(sizeof turns / sizeof *turns)] : fill;
}

typedef struct array {
    assay_fill fill;
    assay_dtype dtype;
    double scale;
    uint64_t seed, stream, magnitudes;
    int64_t row, indices;
    bool magnitudes_only;
    double *data;
} array;

static double sign_of(uint64_t bits) {
    return (bits & 1) != 0 ? -1 : 1;
}

static double normal_at(const array *a, uint64_t index) {
    return a->scale * assay_rng_normal(a->seed, a->stream, index);
}

static double wide_at(const array *a, uint64_t index) {
    const double exponent = WIDE * (2 * assay_rng_uniform(a->seed, a->stream, index) - 1);
    return sign_of(assay_rng_bits(a->seed, ~a->stream, index)) * a->scale * exp2(exponent);
}

static double zero_or_normal_at(const array *a, uint64_t index) {
    const uint64_t bits = assay_rng_bits(a->seed, ~a->stream, index);
    return index > 0 && (bits >> 1) % EVERY == 0 ? sign_of(bits) * 0.0 : normal_at(a, index);
}

/* The element that this one is equal to. Where all tensors have equal rows, or are constant, many
 * gradients vanish, and nothing is proven: of both every second one is. */
static uint64_t taken_from(const array *a, uint64_t index) {
    const uint64_t drawn = assay_rng_bits(a->seed, ~a->stream, UINT64_MAX);
    const uint64_t row = a->row > 0 ? (uint64_t)a->row : 1;
    switch (a->fill) {
    case ASSAY_FILL_CONSTANT:
        return drawn % 2 == 0 ? 0 : index;
    case ASSAY_FILL_ROWS:
        return drawn % 2 == 0 ? index % row : index / (2 * row) * row + index % row;
    case ASSAY_FILL_REPEAT:
        return assay_rng_bits(a->seed, ~a->stream, index) % VALUES;
    default:
        return index;
    }
}

static double value_at(const array *a, uint64_t index) {
    index = taken_from(a, index);
    if (a->dtype == ASSAY_I32)
        return (double)scaled(assay_rng_bits(a->seed, a->stream, index) >> 1, (uint64_t)a->indices);
    switch (fill_of_row(a->fill, (int64_t)index / a->row)) {
    case ASSAY_FILL_UNIFORM:
        return a->scale * sqrt_3 * (2 * assay_rng_uniform(a->seed, a->stream, index) - 1);
    case ASSAY_FILL_POSITIVE:
        return a->scale * sqrt_3 * assay_rng_uniform(a->seed, a->stream, index);
    case ASSAY_FILL_EXACT:
        return odd_integer(assay_rng_bits(a->seed, a->stream, index), a->magnitudes);
    case ASSAY_FILL_NORMAL:
    case ASSAY_FILL_INF:
    case ASSAY_FILL_NAN:
    case ASSAY_FILL_HUGE:
    case ASSAY_FILL_NEGATIVE:
    case ASSAY_FILL_INITIAL:
    case ASSAY_FILL_CANCEL:
    case ASSAY_FILL_DENORMAL:
    case ASSAY_FILL_SINGLE:
    case ASSAY_FILL_CONSTANT:
    case ASSAY_FILL_ROWS:
    case ASSAY_FILL_REPEAT:
        return normal_at(a, index);
    case ASSAY_FILL_WIDE:
        return wide_at(a, index);
    case ASSAY_FILL_ZEROS:
        return zero_or_normal_at(a, index);
    case ASSAY_FILL_GOLDEN:
    case ASSAY_FILL_MIXED: /* no row's own */
        break;
    }
    return 0;
}

static void fill_elements(void *context, int64_t first, int64_t last) {
    const array *a = context;
    for (int64_t i = first; i < last; ++i) {
        const double value = assay_dtype_round(a->dtype, value_at(a, (uint64_t)i));
        a->data[i] = a->magnitudes_only ? fabs(value) : value;
    }
}

void assay_fill_array(assay_fill fill, const char *name, const assay_tensor_spec *spec,
                      double scale, uint64_t seed, double *data, int64_t count) {
    array a = {.fill = fill,
               .dtype = spec->dtype,
               .scale = scale,
               .seed = seed,
               .stream = assay_rng_stream(name),
               .row = row_length(spec),
               .indices = spec->indices,
               .magnitudes_only = spec->magnitudes,
               .magnitudes = fill == ASSAY_FILL_EXACT ? odd_magnitudes(spec) : 0,
               .data = data};
    assay_parallel(count, fill_elements, &a);
}

/* ---- what operators dress normal data with ---- */

void fill_scale(assay_fill fill, assay_fill family, const assay_tensor_spec *spec, int power,
                double *data) {
    const int64_t count = assay_spec_count(spec), length = row_length(spec);
    if (fill != family && fill != ASSAY_FILL_MIXED)
        return; /* before a division for each element */
    for (int64_t e = 0; e < count; ++e)
        if (fill_of_row(fill, e / length) == family)
            data[e] = ldexp(data[e], power);
}

void fill_narrow(assay_fill fill, const assay_tensor_spec *spec, double scale, double times,
                 double *data) {
    const int64_t count = assay_spec_count(spec), length = row_length(spec);
    for (int64_t e = 0; e < count; ++e)
        if (fill_of_row(fill, e / length) == ASSAY_FILL_WIDE)
            data[e] = copysign(scale * pow(fabs(data[e]) / scale, 1 / times), data[e]);
}

int fill_denormal_power(assay_dtype dtype) {
    return ilogb(assay_dtype_denorm_min(dtype)) + assay_dtype_significand(dtype) - 1;
}

int fill_huge_power(assay_dtype dtype, int room) {
    const int most = ilogb(assay_dtype_max(dtype));
    return most > room ? most - room : 0;
}

double fill_exact_room(assay_dtype dtype) {
    const assay_dtype accumulator = dtype == ASSAY_F64 ? ASSAY_F64 : ASSAY_F32;
    return fmin(ldexp(1, assay_dtype_significand(accumulator)), assay_dtype_max(dtype));
}

void fill_scale_factor(assay_fill fill, const assay_tensor_spec *spec, int room, double *data) {
    fill_scale(fill, ASSAY_FILL_DENORMAL, spec, fill_denormal_power(spec->dtype), data);
    fill_scale(fill, ASSAY_FILL_HUGE, spec, fill_huge_power(spec->dtype, room), data);
}

void fill_alternate(const assay_tensor_spec *spec, double scale, unsigned axes, double *data) {
    const int64_t count = assay_spec_count(spec);
    for (int64_t e = 0; e < count; ++e) {
        int64_t odd = 0, rest = e;
        for (int32_t a = spec->rank - 1; a >= 0; --a) {
            odd += (axes >> a & 1u) != 0 ? rest % spec->shape[a] : 0;
            rest /= spec->shape[a];
        }
        const double size = scale + data[e] / STEADY;
        data[e] = odd % 2 == 0 ? size : -size;
    }
}

/* ---- sums of one term ---- */

/* An odd integer of exactly that many bits. */
static double odd_of_bits(uint64_t seed, const char *stream, int64_t at, int bits) {
    const uint64_t drawn = assay_rng_bits(seed, assay_rng_stream(stream), (uint64_t)at);
    const uint64_t top = UINT64_C(1) << (bits - 1);
    const uint64_t magnitude = (drawn >> 1 & (top - 1)) | top | 1;
    return (drawn & 1) != 0 ? -(double)magnitude : (double)magnitude;
}

typedef struct digits {
    int a, b, dy, c;
} digits;

/* Products of two 11-bit integers overflow in f16. */
static double unit_of(assay_dtype dtype) {
    return dtype == ASSAY_F16 ? 0x1p-4 : 1;
}

static int lesser(int a, int b) {
    return a < b ? a : b;
}

static digits digits_of(assay_dtype dtype, uint64_t seed, int64_t passes) {
    const assay_dtype accumulator = dtype == ASSAY_F64 ? ASSAY_F64 : ASSAY_F32;
    const int held = assay_dtype_significand(dtype);
    const int spare = passes > 1 ? ilogb((double)passes) + 1 : 0;
    const int all = assay_dtype_significand(accumulator) - spare;
    const bool split = seed / 3 % 2 == 1;
    const int few = split ? all / 2 - 1 : 1, many = lesser(all - few, held);
    const int some = lesser(few, held);
    const int role = (int)(seed % 3);
    return (digits){.a = role == 0 ? many : some,
                    .b = role == 1 ? many : some,
                    .dy = role == 2 ? many : some,
                    .c = lesser(all, held)};
}

static void clear(fill_matrix t, int64_t rows, int64_t columns) {
    for (int64_t i = 0; t.data && i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
            t.data[i * t.row + j * t.column] = 0;
}

static bool are_coprime(int64_t a, int64_t b) {
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a == 1;
}

/* A step through 0..k-1 that meets each once, far apart. */
static int64_t step_through(int64_t k) {
    int64_t step = k / 2 + 1;
    while (!are_coprime(step, k))
        ++step;
    return step;
}

void fill_single(assay_dtype dtype, uint64_t seed, int64_t passes, int64_t m, int64_t n, int64_t k,
                 fill_matrix a, fill_matrix b, fill_matrix dy, fill_matrix c) {
    enum { WITHOUT = 4 }; /* one column in so many is c's */
    const digits bits = digits_of(dtype, seed, passes);
    const double unit = unit_of(dtype);
    for (int64_t i = 0; i < m; ++i)
        for (int64_t l = 0; l < k; ++l)
            a.data[i * a.row + l * a.column] =
                unit * odd_of_bits(seed, "single a", i * k + l, bits.a);
    clear(b, k, n);
    clear(dy, m, n);
    clear(c, m, n);
    if (m == 0 || k == 0)
        return;
    const int64_t step = step_through(k), first = (int64_t)(seed % (uint64_t)k);
    for (int64_t j = 0; j < n; ++j) {
        const int64_t l = (int64_t)(((__int128)j * step + first) % k);
        const int64_t i = (j + (int64_t)(seed % (uint64_t)m)) % m;
        dy.data[i * dy.row + j * dy.column] = unit * odd_of_bits(seed, "single dy", j, bits.dy);
        if (j < k && !(c.data && j % WITHOUT == WITHOUT - 1))
            b.data[l * b.row + j * b.column] = unit * odd_of_bits(seed, "single b", j, bits.b);
        else
            for (int64_t e = 0; c.data && e < m; ++e)
                c.data[e * c.row + j * c.column] =
                    unit * odd_of_bits(seed, "single c", e * n + j, bits.c);
    }
}
