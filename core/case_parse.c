#include "core/case_parse.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum common {
    COMMON_DTYPE,
    COMMON_MATH,
    COMMON_FILL,
    COMMON_EXPONENT,
    COMMON_OPERAND,
    COMMON_PAD,
    COMMON_MISALIGN,
    COMMON_SCHED,
    COMMON_SEED,
} common;
enum {
    COMMON_KEYS = 9,
    MAX_PAD = 1024,
    MAX_MISALIGN = 8191,
    MAX_OPERAND = 63,
    MAX_EXPONENT = 1100
};

static const char *const common_names[COMMON_KEYS] = {
    "dtype", "math", "fill", "exponent", "operand", "pad", "misalign", "sched", "seed"};

static bool is_name(const char *name, const char *text, size_t length) {
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

/* ---- lists of names in error lines -------------------------------------------------------- */

enum { NAMES = 640 };

static void add_name(char names[NAMES], const char *name) {
    const size_t used = strlen(names);
    snprintf(names + used, NAMES - used, "%s%s", used > 0 ? ", " : "", name);
}

static const char *operator_names(char names[NAMES]) {
    names[0] = '\0';
    for (int32_t i = 0; i < assay_op_count(); ++i)
        add_name(names, assay_op_at(i)->name);
    return names;
}

static const char *key_names(const assay_op *op, char names[NAMES]) {
    names[0] = '\0';
    for (int32_t i = 0; i < op->n_keys; ++i)
        add_name(names, op->keys[i].name);
    for (int i = 0; i < COMMON_KEYS; ++i)
        add_name(names, common_names[i]);
    return names;
}

/* ---- words and numbers -------------------------------------------------------------------- */

assay_status assay_word_split(const char *text, size_t length, assay_word *word) {
    const char *equals = memchr(text, '=', length);
    char quoted[ASSAY_QUOTE];
    if (equals == NULL)
        return assay_fail(ASSAY_ERR_USAGE, "%s is not of the form key=value",
                          assay_quote(text, length, quoted));
    word->key = text;
    word->key_length = (size_t)(equals - text);
    word->value = equals + 1;
    word->value_length = length - word->key_length - 1;
    return ASSAY_OK;
}

static bool parse_uint(const char *text, size_t length, uint64_t *value) {
    *value = 0;
    for (size_t i = 0; i < length; ++i) {
        const unsigned digit = (unsigned char)text[i] - (unsigned)'0';
        if (digit > 9 || __builtin_mul_overflow(*value, UINT64_C(10), value) ||
            __builtin_add_overflow(*value, (uint64_t)digit, value))
            return false;
    }
    return length > 0;
}

bool assay_parse_int(const char *text, size_t length, int64_t *value) {
    const bool negative = length > 0 && text[0] == '-';
    const uint64_t largest = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    uint64_t magnitude;
    if (!parse_uint(text + negative, length - negative, &magnitude) || magnitude > largest)
        return false;
    *value = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

/* A finite decimal number, whatever the locale; no hexadecimal, infinity or NaN. */
static bool parse_real(const char *text, size_t length, double *value) {
    char digits[64];
    if (length == 0 || length >= sizeof digits)
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    if (strspn(digits, "0123456789+-.eE") != length)
        return false;
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    char *end;
    /* + 0.0: one zero only */
    *value = (plain != (locale_t)0 ? strtod_l(digits, &end, plain) : strtod(digits, &end)) + 0.0;
    if (plain != (locale_t)0)
        freelocale(plain);
    return *end == '\0' && isfinite(*value);
}

/* ---- the operator's own keys -------------------------------------------------------------- */

static assay_status value_fault(const assay_op *op, const char *key, const char *text,
                                size_t length, const char *legal) {
    char quoted[ASSAY_QUOTE];
    return assay_fail(ASSAY_ERR_USAGE, "%s: %s=%s: must be %s", op->name, key,
                      assay_quote(text, length, quoted), legal);
}

static bool in_range(const assay_key *key, const char *text, size_t length, int64_t *value) {
    return assay_parse_int(text, length, value) && (double)*value >= key->low &&
           (double)*value <= key->high;
}

static assay_status parse_list(const assay_op *op, const assay_key *key, const char *text,
                               size_t length, assay_param *param) {
    const char *element = text, *const end = text + length;
    if (is_name("none", text, length))
        return ASSAY_OK;
    for (;;) {
        const char *stop = memchr(element, 'x', (size_t)(end - element));
        stop = stop != NULL ? stop : end;
        char legal[160];
        if (param->count == ASSAY_MAX_LIST) {
            snprintf(legal, sizeof legal, "a list of at most %d integers", ASSAY_MAX_LIST);
            return value_fault(op, key->name, text, length, legal);
        }
        if (!in_range(key, element, (size_t)(stop - element), &param->value[param->count])) {
            snprintf(legal, sizeof legal, "integers in %.15g..%.15g joined by 'x', or none",
                     key->low, key->high);
            return value_fault(op, key->name, text, length, legal);
        }
        ++param->count;
        if (stop == end)
            return ASSAY_OK;
        element = stop + 1;
    }
}

static assay_status parse_name(const assay_op *op, const assay_key *key, const char *text,
                               size_t length, assay_param *param) {
    char names[NAMES], legal[NAMES + 16];
    param->count = 1;
    names[0] = '\0';
    for (; op->names[param->value[0]] != NULL; ++param->value[0]) {
        if (is_name(op->names[param->value[0]], text, length))
            return ASSAY_OK;
        add_name(names, op->names[param->value[0]]);
    }
    snprintf(legal, sizeof legal, "one of %s", names);
    return value_fault(op, key->name, text, length, legal);
}

assay_status assay_param_parse(const assay_op *op, const assay_key *key, const char *text,
                               size_t length, assay_param *param) {
    memset(param, 0, sizeof *param);
    param->name = key->name;
    if (key->kind == ASSAY_KEY_LIST)
        return parse_list(op, key, text, length, param);
    if (key->kind == ASSAY_KEY_NAME)
        return parse_name(op, key, text, length, param);
    const bool real = key->kind == ASSAY_KEY_REAL;
    param->count = real ? 0 : 1;
    if (real ? parse_real(text, length, &param->real) && param->real >= key->low &&
                   param->real <= key->high
             : in_range(key, text, length, &param->value[0]))
        return ASSAY_OK;
    char legal[80];
    snprintf(legal, sizeof legal, "%s in %.15g..%.15g", real ? "a decimal number" : "an integer",
             key->low, key->high);
    return value_fault(op, key->name, text, length, legal);
}

/* ---- the common keys ---------------------------------------------------------------------- */

/* The names of one common key, the meaning of each being its place. */
typedef struct choice {
    const char *name;
    int count;
    const char *(*name_of)(int i);
} choice;

static const char *dtype_name(int i) {
    return assay_dtype_name((assay_dtype)i);
}

static const char *math_name(int i) {
    return assay_math_name((assay_math)i);
}

static const char *fill_name(int i) {
    return assay_fill_name((assay_fill)i);
}

static const char *schedule_name(int i) {
    return assay_schedule_name((assay_schedule)i);
}

static const choice dtype_choice = {"dtype", ASSAY_DTYPES, dtype_name};
static const choice math_choice = {"math", ASSAY_TF32 + 1, math_name};
static const choice fill_choice = {"fill", ASSAY_FILLS, fill_name};
static const choice schedule_choice = {"sched", ASSAY_SCHEDULES, schedule_name};

static const char *choice_names(const choice *from, unsigned mask, char names[NAMES]) {
    names[0] = '\0';
    for (int i = 0; i < from->count; ++i)
        if ((mask >> i & 1u) != 0)
            add_name(names, from->name_of(i));
    return names;
}

static assay_status choose(const assay_op *op, const choice *from, const assay_word *word,
                           int *chosen) {
    for (int i = 0; i < from->count; ++i) {
        if (is_name(from->name_of(i), word->value, word->value_length)) {
            *chosen = i;
            return ASSAY_OK;
        }
    }
    char names[NAMES], legal[NAMES + 16];
    snprintf(legal, sizeof legal, "one of %s", choice_names(from, ~0u, names));
    return value_fault(op, from->name, word->value, word->value_length, legal);
}

/* What fill.c makes without the operator's help. */
static const unsigned common_fills =
    ASSAY_FILL_BIT(ASSAY_FILL_NORMAL) | ASSAY_FILL_BIT(ASSAY_FILL_UNIFORM) |
    ASSAY_FILL_BIT(ASSAY_FILL_POSITIVE) | ASSAY_FILL_BIT(ASSAY_FILL_EXACT) |
    ASSAY_FILL_BIT(ASSAY_FILL_GOLDEN) | ASSAY_FILL_BIT(ASSAY_FILL_INF) |
    ASSAY_FILL_BIT(ASSAY_FILL_NAN);

/* Operands cut to TF32 lose 13 bits of a number, but all of a subnormal one that has no more: no
 * bound that is relative to the operands holds there. */
static assay_status check_denormals(const assay_case *c) {
    const bool denormals = c->fill == ASSAY_FILL_DENORMAL || c->fill == ASSAY_FILL_MIXED;
    if (c->params.math != ASSAY_TF32 || !denormals)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_USAGE,
                      "%s: fill=%s has subnormal numbers, of which TF32 keeps too few "
                      "bits; use math=strict or another fill",
                      c->op->name, assay_fill_name(c->fill));
}

/* Factors of all the accumulator's bits are what TF32 cuts. */
static assay_status check_single(const assay_case *c) {
    if (c->params.math != ASSAY_TF32 || c->fill != ASSAY_FILL_SINGLE)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_USAGE,
                      "%s: fill=single has operands of 24 bits, and TF32 holds 11; use math=strict "
                      "or fill=exact",
                      c->op->name);
}

/* Legal in general, but this operator may lack it. */
static assay_status check_support(const assay_op *op, const choice *of, int chosen, unsigned mask) {
    char names[NAMES];
    if ((mask >> chosen & 1u) != 0)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_USAGE, "%s is not defined for %s=%s; it is for %s", op->name,
                      of->name, of->name_of(chosen), choice_names(of, mask, names));
}

static assay_status parse_number(const assay_op *op, const char *key, const assay_word *word,
                                 int64_t low, int64_t high, int64_t *value) {
    char legal[64];
    if (assay_parse_int(word->value, word->value_length, value) && *value >= low && *value <= high)
        return ASSAY_OK;
    snprintf(legal, sizeof legal, "an integer in %" PRId64 "..%" PRId64, low, high);
    return value_fault(op, key, word->value, word->value_length, legal);
}

static assay_status parse_common(const assay_op *op, common key, const assay_word *word,
                                 assay_case *c) {
    int chosen = 0;
    assay_status status = ASSAY_OK;
    switch (key) {
    case COMMON_DTYPE:
        status = choose(op, &dtype_choice, word, &chosen);
        c->params.dtype = (assay_dtype)chosen;
        return status;
    case COMMON_MATH:
        status = choose(op, &math_choice, word, &chosen);
        c->params.math = (assay_math)chosen;
        return status;
    case COMMON_FILL:
        status = choose(op, &fill_choice, word, &chosen);
        c->fill = (assay_fill)chosen;
        return status;
    case COMMON_SCHED:
        status = choose(op, &schedule_choice, word, &chosen);
        c->schedule = (assay_schedule)chosen;
        return status;
    case COMMON_PAD:
        return parse_number(op, "pad", word, 0, MAX_PAD, &c->pad);
    case COMMON_MISALIGN:
        return parse_number(op, "misalign", word, 0, MAX_MISALIGN, &c->misalign);
    case COMMON_EXPONENT:
        return parse_number(op, "exponent", word, -MAX_EXPONENT, MAX_EXPONENT, &c->exponent);
    case COMMON_OPERAND:
        return parse_number(op, "operand", word, 0, MAX_OPERAND, &c->operand);
    case COMMON_SEED:
        break;
    }
    return parse_uint(word->value, word->value_length, &c->seed)
               ? ASSAY_OK
               : value_fault(op, "seed", word->value, word->value_length,
                             "an integer in 0..18446744073709551615");
}

/* ---- a whole case ------------------------------------------------------------------------- */

/* The place of a key among the operator's keys and, after them, the common ones; -1: unknown. */
static int32_t find_key(const assay_op *op, const char *key, size_t length) {
    for (int32_t i = 0; i < op->n_keys; ++i)
        if (is_name(op->keys[i].name, key, length))
            return i;
    for (int32_t i = 0; i < COMMON_KEYS; ++i)
        if (is_name(common_names[i], key, length))
            return op->n_keys + i;
    return -1;
}

bool assay_key_takes_range(const assay_op *op, const char *key, size_t length) {
    const int32_t i = find_key(op, key, length);
    if (i < 0)
        return false;
    if (i < op->n_keys)
        return op->keys[i].kind == ASSAY_KEY_INT || op->keys[i].kind == ASSAY_KEY_LIST;
    const common which = (common)(i - op->n_keys);
    return which != COMMON_DTYPE && which != COMMON_MATH && which != COMMON_FILL &&
           which != COMMON_SCHED;
}

typedef bool given_keys[ASSAY_MAX_KEYS + COMMON_KEYS];

static assay_status parse_word(const assay_op *op, const char *text, size_t length, assay_case *c,
                               given_keys given) {
    assay_word word;
    assay_status status = assay_word_split(text, length, &word);
    if (status != ASSAY_OK)
        return status;

    char quoted[ASSAY_QUOTE], names[NAMES];
    const int32_t i = find_key(op, word.key, word.key_length);
    if (i < 0)
        return assay_fail(ASSAY_ERR_USAGE, "%s has no key %s; its keys: %s", op->name,
                          assay_quote(word.key, word.key_length, quoted), key_names(op, names));
    if (given[i])
        return assay_fail(ASSAY_ERR_USAGE, "%s: key %s is given twice; give it once", op->name,
                          assay_quote(word.key, word.key_length, quoted));
    given[i] = true;
    if (i < op->n_keys)
        return assay_param_parse(op, &op->keys[i], word.value, word.value_length,
                                 &c->params.item[i]);
    return parse_common(op, (common)(i - op->n_keys), &word, c);
}

static assay_status fill_defaults(const assay_op *op, assay_case *c, const given_keys given) {
    for (int32_t i = 0; i < op->n_keys; ++i) {
        const assay_key *key = &op->keys[i];
        assay_param *param = &c->params.item[i];
        if (given[i])
            continue;
        if (key->fallback == NULL)
            return assay_fail(ASSAY_ERR_USAGE, "%s: key \"%s\" is missing: %s", op->name, key->name,
                              key->doc);
        if (key->fallback[0] == '\0') {
            *param = param[-1];
            param->name = key->name;
            continue;
        }
        assay_status status =
            assay_param_parse(op, key, key->fallback, strlen(key->fallback), param);
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

/* Data of these fills are what they are for some reason. */
static assay_status check_exponent(assay_case *c) {
    if (c->exponent == 0)
        c->operand = 0;
    if (c->exponent == 0 || (!assay_fill_is_exact(c->fill) && c->fill != ASSAY_FILL_GOLDEN))
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_USAGE,
                      "%s: exponent= changes data that fill=%s says are as they are; use another "
                      "fill",
                      c->op->name, assay_fill_name(c->fill));
}

static assay_status check(assay_case *c) {
    const assay_op *op = c->op;
    char text[ASSAY_CASE_TEXT];
    assay_status status = check_support(op, &dtype_choice, (int)c->params.dtype, op->dtypes);
    if (status == ASSAY_OK)
        status = check_support(op, &math_choice, (int)c->params.math, op->maths);
    if (status == ASSAY_OK)
        status = check_support(op, &fill_choice, (int)c->fill, common_fills | op->fills);
    if (status == ASSAY_OK)
        status = check_denormals(c);
    if (status == ASSAY_OK)
        status = check_single(c);
    if (status == ASSAY_OK)
        status = check_exponent(c);
    if (status == ASSAY_OK)
        status = op->legal(&c->params);
    if (status == ASSAY_OK && assay_case_format_bounded(c, text, sizeof text) >= sizeof text)
        status = assay_fail(ASSAY_ERR_USAGE, "%s: the case's text is longer than %d bytes",
                            op->name, ASSAY_CASE_TEXT - 1);
    return status;
}

assay_status assay_case_parse_words(const assay_op *op, const char *words, assay_case *c) {
    given_keys given = {false};
    memset(c, 0, sizeof *c);
    c->op = op;
    c->params.count = op->n_keys;
    c->params.dtype = ASSAY_F32;

    while (*words != '\0') {
        const size_t length = strcspn(words, " \t");
        if (length > 0) {
            assay_status status = parse_word(op, words, length, c, given);
            if (status != ASSAY_OK)
                return status;
        }
        words += length;
        words += strspn(words, " \t");
    }
    assay_status status = fill_defaults(op, c, given);
    return status == ASSAY_OK ? check(c) : status;
}

assay_status assay_case_parse(const char *text, assay_case *c) {
    while (is_blank(*text))
        ++text;
    const size_t length = strcspn(text, " \t");
    char quoted[ASSAY_QUOTE], names[NAMES];
    if (length == 0)
        return assay_fail(ASSAY_ERR_USAGE, "no operator named; operators: %s",
                          operator_names(names));
    const assay_op *op = assay_op_find(text, length);
    if (op != NULL)
        return assay_case_parse_words(op, text + length, c);

    return assay_fail(ASSAY_ERR_USAGE, "no operator %s; operators: %s",
                      assay_quote(text, length, quoted), operator_names(names));
}
