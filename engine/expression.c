#include "engine/expression.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 64, DEPTH = 64 };

typedef struct reader {
    const char *text, *at;
    const expression_names *names; /* NULL: values do not matter */
    assay_status status;           /* of the first thing that is wrong; all values are then 0 */
    int depth;
} reader;

static int64_t wrong(reader *r, assay_status status, const char *what) {
    if (r->status == ASSAY_OK)
        r->status = assay_fail(status, "%.100s: %s", r->text, what);
    return 0;
}

static int64_t unreadable(reader *r) {
    char what[64];
    snprintf(what, sizeof what, "%s %.20s", "cannot be read at",
             *r->at != '\0' ? r->at : "its end");
    return wrong(r, ASSAY_ERR_USAGE, what);
}

static bool take(reader *r, const char *word) {
    r->at += strspn(r->at, " \t\r");
    const size_t n = strlen(word);
    if (strncmp(r->at, word, n) != 0)
        return false;
    r->at += n;
    return true;
}

static int64_t in_range(reader *r, bool overflow, int64_t value) {
    return overflow && r->names != NULL
               ? wrong(r, ASSAY_ERR_UNSUPPORTED, "a number of more than 64 bits")
               : value;
}

static int64_t divide(reader *r, int64_t a, int64_t b, char how) {
    if (r->names == NULL)
        return 1;
    if (b == 0)
        return wrong(r, ASSAY_ERR_UNSUPPORTED, "divides by 0");
    if (a == INT64_MIN && b == -1)
        return in_range(r, true, 0);
    const bool up = how == 'c' && a % b != 0 && (a < 0) == (b < 0);
    return how == '%' ? a % b : a / b + up;
}

static int64_t any(reader *r);

static int64_t call(reader *r, const char *name) {
    const int64_t a = any(r);
    const int64_t b = take(r, ",") ? any(r) : unreadable(r);
    if (!take(r, ")"))
        return unreadable(r);
    if (strcmp(name, "cdiv") == 0)
        return divide(r, a, b, 'c');
    if (strcmp(name, "min") == 0)
        return a < b ? a : b;
    if (strcmp(name, "max") == 0)
        return a > b ? a : b;
    return wrong(r, ASSAY_ERR_USAGE, "its functions are cdiv, min and max");
}

static int64_t named(reader *r) {
    char name[NAME];
    size_t n = 0;
    while (isalnum((unsigned char)*r->at) || *r->at == '_' || *r->at == '.') {
        if (n + 1 == sizeof name)
            return unreadable(r);
        name[n++] = *r->at++;
    }
    name[n] = '\0';
    if (take(r, "("))
        return call(r, name);
    int64_t value = 1;
    if (r->names != NULL && r->status == ASSAY_OK)
        r->status = r->names->find(r->names->data, name, &value);
    return value;
}

static int64_t number(reader *r) {
    char *end;
    errno = 0;
    const long long value = strtoll(r->at, &end, 10);
    r->at = end;
    return in_range(r, errno != 0, value);
}

static int64_t inner(reader *r) {
    int64_t value = 0;
    if (take(r, "(")) {
        value = any(r);
        return take(r, ")") ? value : unreadable(r);
    }
    if (take(r, "-")) {
        const bool overflow = __builtin_sub_overflow((int64_t)0, inner(r), &value);
        return in_range(r, overflow, value);
    }
    if (isdigit((unsigned char)*r->at))
        return number(r);
    return isalpha((unsigned char)*r->at) ? named(r) : unreadable(r);
}

/* Nested no deeper than a stack holds. */
static int64_t factor(reader *r) {
    if (r->depth == DEPTH)
        return wrong(r, ASSAY_ERR_USAGE, "nested too deeply");
    ++r->depth;
    const int64_t value = inner(r);
    --r->depth;
    return value;
}

static int64_t product(reader *r) {
    int64_t value = factor(r);
    while (r->status == ASSAY_OK)
        if (take(r, "*")) {
            const bool overflow = __builtin_mul_overflow(value, factor(r), &value);
            value = in_range(r, overflow, value);
        } else if (take(r, "/")) {
            value = divide(r, value, factor(r), '/');
        } else if (take(r, "%")) {
            value = divide(r, value, factor(r), '%');
        } else {
            break;
        }
    return value;
}

static int64_t sum(reader *r) {
    int64_t value = product(r);
    while (r->status == ASSAY_OK) {
        const bool plus = take(r, "+");
        if (!plus && !take(r, "-"))
            break;
        const int64_t other = product(r);
        const bool overflow = plus ? __builtin_add_overflow(value, other, &value)
                                   : __builtin_sub_overflow(value, other, &value);
        value = in_range(r, overflow, value);
    }
    return value;
}

static int64_t comparison(reader *r) {
    const int64_t a = sum(r);
    if (take(r, "=="))
        return a == sum(r);
    if (take(r, "!="))
        return a != sum(r);
    if (take(r, "<="))
        return a <= sum(r);
    if (take(r, ">="))
        return a >= sum(r);
    if (take(r, "<"))
        return a < sum(r);
    return take(r, ">") ? a > sum(r) : a;
}

static int64_t both(reader *r) {
    int64_t value = comparison(r);
    while (r->status == ASSAY_OK && take(r, "&&")) {
        const int64_t other = comparison(r);
        value = value != 0 && other != 0;
    }
    return value;
}

static int64_t any(reader *r) {
    int64_t value = both(r);
    while (r->status == ASSAY_OK && take(r, "||")) {
        const int64_t other = both(r);
        value = value != 0 || other != 0;
    }
    return value;
}

static assay_status read_list(reader *r, int most, int64_t *values, int *count) {
    *count = 0;
    do {
        if (*count == most)
            wrong(r, ASSAY_ERR_USAGE, "has too many values");
        const int64_t value = any(r);
        if (r->status == ASSAY_OK && values != NULL)
            values[*count] = value;
        ++*count;
    } while (r->status == ASSAY_OK && take(r, ","));
    r->at += strspn(r->at, " \t\r");
    if (*r->at != '\0')
        (void)unreadable(r);
    return r->status;
}

assay_status expression_values(const char *text, const expression_names *names, int most,
                               int64_t *values, int *count) {
    reader r = {.text = text, .at = text, .names = names};
    return read_list(&r, most, values, count);
}

assay_status expression_check(const char *text, int most) {
    int count;
    reader r = {.text = text, .at = text};
    return read_list(&r, most, NULL, &count);
}
