#include "assay/case.h"
#include "core/case_parse.h"

#include <assert.h>
#include <inttypes.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *assay_math_name(assay_math math) {
    static const char *const names[] = {"strict", "tf32"};
    return names[math];
}

const char *assay_fill_name(assay_fill fill) {
    static const char *const names[ASSAY_FILLS] = {
        "normal", "uniform",  "positive", "exact",  "golden", "inf",      "nan",
        "huge",   "negative", "initial",  "cancel", "wide",   "denormal", "zeros",
        "mixed",  "single",   "constant", "rows",   "repeat"};
    return names[fill];
}

bool assay_fill_is_exact(assay_fill fill) {
    return fill == ASSAY_FILL_EXACT || fill == ASSAY_FILL_SINGLE;
}

const char *assay_schedule_name(assay_schedule schedule) {
    static const char *const names[ASSAY_SCHEDULES] = {"inorder", "reverse", "random", "warp"};
    return names[schedule];
}

/* Text that counts on after it is full, like snprintf. */
typedef struct writer {
    char *text;
    size_t size, length;
} writer;

ASSAY_PRINTF(2, 3) static void put(writer *w, const char *format, ...) {
    const size_t used = w->length < w->size ? w->length : w->size;
    va_list args;
    va_start(args, format);
    const int added = vsnprintf(w->text + used, w->size - used, format, args);
    va_end(args);
    w->length += added > 0 ? (size_t)added : 0;
}

/* The fewest digits that read back as the same number. */
static void put_real(writer *w, double value) {
    char digits[32];
    for (int precision = 15; precision <= 17; ++precision) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    put(w, "%s", digits);
}

static void put_param(writer *w, const assay_op *op, const assay_key *key,
                      const assay_param *param) {
    put(w, " %s=", key->name);
    if (key->kind == ASSAY_KEY_NAME) {
        put(w, "%s", op->names[param->value[0]]);
        return;
    }
    if (key->kind == ASSAY_KEY_REAL)
        put_real(w, param->real);
    else if (param->count == 0)
        put(w, "none");
    for (int32_t i = 0; i < param->count; ++i)
        put(w, "%s%" PRId64, i > 0 ? "x" : "", param->value[i]);
}

static bool same_value(const assay_param *a, const assay_param *b) {
    return a->count == b->count && a->real == b->real &&
           memcmp(a->value, b->value, (size_t)a->count * sizeof a->value[0]) == 0;
}

/* Whether key i of the operator has the value that it would have if it were left out. */
static bool is_default(const assay_op *op, const assay_params *params, int32_t i) {
    const assay_key *key = &op->keys[i];
    if (key->fallback == NULL)
        return false;
    if (key->fallback[0] == '\0')
        return i > 0 && same_value(&params->item[i], &params->item[i - 1]);
    assay_param fallback;
    return assay_param_parse(op, key, key->fallback, strlen(key->fallback), &fallback) ==
               ASSAY_OK &&
           same_value(&params->item[i], &fallback);
}

static void put_case(writer *w, const assay_case *c) {
    put(w, "%s", c->op->name);
    for (int32_t i = 0; i < c->op->n_keys; ++i)
        if (!is_default(c->op, &c->params, i))
            put_param(w, c->op, &c->op->keys[i], &c->params.item[i]);
    put(w, " dtype=%s", assay_dtype_name(c->params.dtype));
    if (c->params.math != ASSAY_STRICT)
        put(w, " math=%s", assay_math_name(c->params.math));
    if (c->fill != ASSAY_FILL_NORMAL)
        put(w, " fill=%s", assay_fill_name(c->fill));
    if (c->exponent != 0)
        put(w, " exponent=%" PRId64, c->exponent);
    if (c->operand != 0)
        put(w, " operand=%" PRId64, c->operand);
    if (c->pad != 0)
        put(w, " pad=%" PRId64, c->pad);
    if (c->misalign != 0)
        put(w, " misalign=%" PRId64, c->misalign);
    if (c->schedule != ASSAY_SCHEDULE_IN_ORDER)
        put(w, " sched=%s", assay_schedule_name(c->schedule));
    put(w, " seed=%" PRIu64, c->seed);
}

size_t assay_case_format_bounded(const assay_case *c, char *text, size_t size) {
    writer w = {.text = text, .size = size};
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const locale_t before = uselocale(plain);
    put_case(&w, c);
    uselocale(before);
    if (plain != (locale_t)0)
        freelocale(plain);
    return w.length;
}

const char *assay_case_format(const assay_case *c, char text[ASSAY_CASE_TEXT]) {
    const size_t length = assay_case_format_bounded(c, text, ASSAY_CASE_TEXT);
    assert(length < ASSAY_CASE_TEXT);
    (void)length;
    return text;
}
