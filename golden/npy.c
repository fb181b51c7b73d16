#include "golden/npy.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

static const char magic[] = "\x93NUMPY";
enum { MAGIC = 6, ALIGNMENT = 64 };

/* NumPy has no bf16: an array of ml_dtypes' bfloat16 is saved as raw elements of two bytes. */
static const char *const descriptions[] = {[ASSAY_F64] = "<f8",
                                           [ASSAY_F32] = "<f4",
                                           [ASSAY_BF16] = "|V2",
                                           [ASSAY_F16] = "<f2",
                                           [ASSAY_I32] = "<i4"};
enum { TYPES = sizeof descriptions / sizeof *descriptions };

/* ---- the header: a Python dictionary of three keys ---- */

typedef struct scanner {
    const char *at, *end;
} scanner;

static void skip_blanks(scanner *s) {
    while (s->at < s->end && isspace((unsigned char)*s->at))
        ++s->at;
}

static bool take(scanner *s, const char *text) {
    const size_t length = strlen(text);
    skip_blanks(s);
    if ((size_t)(s->end - s->at) < length || memcmp(s->at, text, length) != 0)
        return false;
    s->at += length;
    return true;
}

/* Printable, without escapes, at most `size` - 1 bytes. */
static bool take_string(scanner *s, char *text, size_t size) {
    size_t n = 0;
    skip_blanks(s);
    if (s->at == s->end || (*s->at != '\'' && *s->at != '"'))
        return false;
    const char quote = *s->at++;
    for (; s->at < s->end && *s->at != quote; ++s->at, ++n) {
        if (n + 1 >= size || *s->at < ' ' || *s->at > '~' || *s->at == '\\')
            return false;
        text[n] = *s->at;
    }
    text[n] = '\0';
    return take(s, quote == '"' ? "\"" : "'");
}

static bool take_count(scanner *s, int64_t *count) {
    skip_blanks(s);
    *count = 0;
    if (s->at == s->end || !isdigit((unsigned char)*s->at))
        return false;
    for (; s->at < s->end && isdigit((unsigned char)*s->at); ++s->at)
        if (__builtin_mul_overflow(*count, INT64_C(10), count) ||
            __builtin_add_overflow(*count, (int64_t)(*s->at - '0'), count))
            return false;
    return true;
}

static bool take_shape(scanner *s, packed_tensor *t) {
    if (!take(s, "("))
        return false;
    while (!take(s, ")")) {
        int64_t extent;
        if ((t->rank > 0 && !take(s, ",")))
            return false;
        if (take(s, ")")) /* (3,) */
            return true;
        if (!take_count(s, &extent))
            return false;
        if (t->rank < ASSAY_MAX_RANK)
            t->shape[t->rank] = extent;
        if (t->rank <= ASSAY_MAX_RANK)
            ++t->rank;
    }
    return true;
}

static const char damaged[] = "its header cannot be read; make the file anew";
enum { DESCR = 1, ORDER = 2, SHAPE = 4, ALL = 7 };

static const char *take_item(scanner *s, char type[NPY_TYPE], packed_tensor *t, bool *fortran,
                             unsigned *seen) {
    char key[NPY_TYPE];
    if (!take_string(s, key, sizeof key) || !take(s, ":"))
        return damaged;
    if (strcmp(key, "descr") == 0) {
        *seen |= DESCR;
        return take_string(s, type, NPY_TYPE) ? NULL : "of a structured type; store one array each";
    }
    if (strcmp(key, "fortran_order") == 0) {
        *seen |= ORDER;
        *fortran = take(s, "True");
        return *fortran || take(s, "False") ? NULL : damaged;
    }
    if (strcmp(key, "shape") != 0 || (*seen & SHAPE) != 0)
        return damaged;
    *seen |= SHAPE;
    return take_shape(s, t) ? NULL : damaged;
}

static const char *parse_header(scanner *s, char type[NPY_TYPE], packed_tensor *t) {
    bool fortran = false, more = true;
    unsigned seen = 0;
    if (!take(s, "{"))
        return damaged;
    while (more) {
        const char *wrong = take_item(s, type, t, &fortran, &seen);
        if (wrong != NULL)
            return wrong;
        const bool comma = take(s, ",");
        more = !take(s, "}");
        if (more && !comma)
            return damaged;
    }
    if (seen != ALL)
        return damaged;
    return fortran && t->rank > 1 ? "in Fortran's order; store numpy.ascontiguousarray of it"
                                  : NULL;
}

static void name_type(packed_tensor *t) {
    for (int d = 0; d < TYPES; ++d)
        if (strcmp(descriptions[d], t->type) == 0 ||
            (d == ASSAY_BF16 && strcmp(t->type, "<V2") == 0)) {
            t->known = true;
            t->dtype = (assay_dtype)d;
        }
}

const char *npy_parse(const unsigned char *bytes, size_t size, char type[NPY_TYPE],
                      packed_tensor *t) {
    enum { VERSION = MAGIC, LENGTH = MAGIC + 2 };
    *t = (packed_tensor){.type = type};
    type[0] = '\0';
    if (size < LENGTH + 4 || memcmp(bytes, magic, MAGIC) != 0)
        return "not a .npy array; make the file anew with numpy.savez";
    if (bytes[VERSION] < 1 || bytes[VERSION] > 3)
        return "of an unknown version of .npy; make the file anew with numpy.savez";
    const size_t wide = bytes[VERSION] == 1 ? 2 : 4, start = LENGTH + wide;
    size_t length = 0;
    for (size_t i = 0; i < wide; ++i)
        length |= (size_t)bytes[LENGTH + i] << 8 * i;
    if (length > size - start)
        return "its header is longer than the file; make the file anew";
    scanner s = {(const char *)bytes + start, (const char *)bytes + start + length};
    const char *wrong = parse_header(&s, type, t);
    name_type(t);
    t->data = bytes + start + length;
    t->bytes = size - start - length;
    return wrong;
}

/* ---- writing ---- */

const char *npy_type(assay_dtype dtype) {
    return descriptions[dtype];
}

size_t npy_format(const char *type, int32_t rank, const int64_t *shape, char header[NPY_HEADER]) {
    enum { START = MAGIC + 4 };
    char *text = header + START;
    const size_t room = NPY_HEADER - START - ALIGNMENT;
    size_t used =
        (size_t)snprintf(text, room, "{'descr': '%s', 'fortran_order': False, 'shape': (", type);
    for (int32_t a = 0; a < rank; ++a)
        used += (size_t)snprintf(text + used, room - used, "%" PRId64 "%s", shape[a],
                                 rank == 1      ? ","
                                 : a + 1 < rank ? ", "
                                                : "");
    used += (size_t)snprintf(text + used, room - used, "), }");
    while ((START + used + 1) % ALIGNMENT != 0)
        text[used++] = ' ';
    text[used++] = '\n';
    memcpy(header, magic, MAGIC);
    header[MAGIC] = 1;
    header[MAGIC + 1] = 0;
    header[MAGIC + 2] = (char)(used & 0xff);
    header[MAGIC + 3] = (char)(used >> 8);
    return START + used;
}
