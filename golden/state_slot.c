/* Conditions on a file's tensor, in every format. */
#include "golden/state.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

assay_status state_refuse(const state_slot *s, const char *format, ...) {
    char what[320];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return assay_fail(ASSAY_ERR_FILE, "%s: /%s/%s: %s", s->path, s->group, s->spec->name, what);
}

bool state_strip_prefix(const state_reading *r, const char **name) {
    static const char *const others[] = {"want_", "bound_"};
    const size_t length = strlen(r->prefix);
    if (length == 0)
        return true;
    if (strncmp(*name, r->prefix, length) != 0)
        return false;
    *name += length;
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i)
        if (strncmp(*name, others[i], strlen(others[i])) == 0)
            return false;
    return true;
}

assay_status state_find_group(const state_reading *r, const char *name, const state_group **group) {
    for (int g = 0; g < STATE_GROUPS; ++g)
        if (strcmp(r->group[g].name, name) == 0) {
            *group = &r->group[g];
            return ASSAY_OK;
        }
    if (r->prefix[0] == '\0' && strlen(name) >= 4 && strspn(name, "0123456789") == strlen(name))
        return assay_fail(ASSAY_ERR_FILE,
                          "%s: holds findings of `assay fuzz`; %.100s:1 names the first one",
                          r->path, r->path);
    return assay_fail(ASSAY_ERR_FILE,
                      "%s: /%.100s: unknown; inputs belong in /in, cotangents in /cot, outputs in "
                      "/out, gradients in /grad",
                      r->path, name);
}

assay_status state_find_slot(const state_reading *r, const state_group *group, const char *name,
                             state_slot *slot) {
    for (int32_t i = 0; i < group->arrays->count; ++i) {
        if (group->arrays->data[i] == NULL || strcmp(group->specs[i].name, name) != 0)
            continue;
        *slot = (state_slot){.path = r->path,
                             .group = group->name,
                             .spec = &group->specs[i],
                             .data = group->arrays->data[i],
                             .size = group->arrays->size[i],
                             .use = group->use};
        if (group->taken[i])
            return state_refuse(slot, "is there twice; make the file anew");
        group->taken[i] = true;
        return ASSAY_OK;
    }
    return assay_fail(ASSAY_ERR_FILE,
                      "%s: /%s/%.100s: this case has no %s of that name; --no-run "
                      "writes a file with all names",
                      r->path, group->name, name, group->called);
}

const char *state_shape_text(int32_t rank, const int64_t *shape, char text[128]) {
    size_t used = (size_t)snprintf(text, 128, "(");
    for (int32_t a = 0; a < rank && used < 100; ++a)
        used +=
            (size_t)snprintf(text + used, 128 - used, "%s%" PRId64, a > 0 ? ", " : "", shape[a]);
    snprintf(text + used, 128 - used, ")");
    return text;
}

assay_status state_check_shape(const state_slot *s, int32_t rank, const int64_t *shape) {
    char stored[128], declared[128];
    bool same = rank == s->spec->rank;
    for (int32_t a = 0; same && a < rank; ++a)
        same = shape[a] == s->spec->shape[a];
    if (same)
        return ASSAY_OK;
    const int32_t shown = rank > ASSAY_MAX_RANK ? 0 : rank;
    return state_refuse(s, "shape %s, and the case has %s; reshape it, or name another case",
                        rank > ASSAY_MAX_RANK ? "of too many axes"
                                              : state_shape_text(shown, shape, stored),
                        state_shape_text(s->spec->rank, s->spec->shape, declared));
}

/* NULL where a kernel of that dtype may be given, or give, the value. */
static const char *fault_of(const assay_tensor_spec *spec, double v) {
    if (!isnan(v) && assay_dtype_round(spec->dtype, v) != v)
        return "is not a value of the case's dtype; round the data to it";
    if (spec->dtype == ASSAY_I32 && !(v >= 0 && v < (double)spec->indices))
        return "is no index here; indices are below the extent that they select from";
    if (spec->magnitudes && v < 0)
        return "is negative, which this tensor cannot be";
    return NULL;
}

static bool same_value(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

assay_status state_check_values(const state_slot *s, const double *values) {
    for (int64_t i = 0; i < s->size; ++i) {
        const char *fault = fault_of(s->spec, values[i]);
        if (fault != NULL)
            return state_refuse(s, "element %" PRId64 ", %.9g, %s", i, values[i], fault);
        if (s->use == STATE_SAME && !same_value(values[i], s->data[i]))
            return state_refuse(s,
                                "element %" PRId64
                                " is %.9g, and the case's is %.9g; name the file "
                                "of the inputs with --in",
                                i, values[i], s->data[i]);
    }
    return ASSAY_OK;
}
