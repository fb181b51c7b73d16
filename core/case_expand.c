#include "core/case_parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CASES = 1000000, INT_DIGITS = 20 };

/* Part of a word's value: one literal value, or `count` integers from `first` on. */
typedef struct part {
    const char *text;
    size_t length;
    bool range;
    int64_t first, step, count;
} part;

/* One word: the values that its key runs through. */
typedef struct axis {
    assay_word word;
    part *parts;
    int32_t n_parts;
    int64_t count; /* values of all parts */
    int64_t at;    /* the current one */
} axis;

/* first:last or first:last:step */
static assay_status parse_range(const assay_word *word, bool takes_ranges, part *p) {
    char key[ASSAY_QUOTE], value[ASSAY_QUOTE];
    const char *end = p->text + p->length;
    const char *colon = memchr(p->text, ':', p->length);
    const char *second = memchr(colon + 1, ':', (size_t)(end - colon - 1));
    const char *stop = second != NULL ? second : end;
    int64_t last;
    assay_quote(word->key, word->key_length, key);
    assay_quote(p->text, p->length, value);
    if (!takes_ranges)
        return assay_fail(ASSAY_ERR_USAGE,
                          "key %s takes no range such as %s; only integer keys do; give a "
                          "list a,b,c",
                          key, value);
    p->step = 1;
    if (!assay_parse_int(p->text, (size_t)(colon - p->text), &p->first) ||
        !assay_parse_int(colon + 1, (size_t)(stop - colon - 1), &last) ||
        (second != NULL && !assay_parse_int(second + 1, (size_t)(end - second - 1), &p->step)) ||
        p->step < 1 || last < p->first)
        return assay_fail(ASSAY_ERR_USAGE,
                          "key %s: range %s must be first:last or first:last:step, with "
                          "first <= last and step >= 1; the extents of a list such as 3x4 are "
                          "single integers",
                          key, value);
    const uint64_t steps = ((uint64_t)last - (uint64_t)p->first) / (uint64_t)p->step;
    p->range = true;
    p->count = steps < MAX_CASES ? (int64_t)steps + 1 : (int64_t)MAX_CASES + 1;
    return ASSAY_OK;
}

static assay_status axis_init(const assay_op *op, const char *text, axis *a) {
    char quoted[ASSAY_QUOTE];
    if (text[strcspn(text, " \t")] != '\0')
        return assay_fail(ASSAY_ERR_USAGE, "%s holds a blank; give one key=value word at a time",
                          assay_quote(text, strlen(text), quoted));
    assay_status status = assay_word_split(text, strlen(text), &a->word);
    if (status != ASSAY_OK)
        return status;

    const assay_word *word = &a->word;
    const bool ranges = assay_key_takes_range(op, word->key, word->key_length);
    const char *const end = word->value + word->value_length;
    size_t n = 1;
    for (const char *c = word->value; c < end; ++c)
        n += *c == ',';
    a->parts = n <= MAX_CASES ? calloc(n, sizeof *a->parts) : NULL;
    if (a->parts == NULL)
        return assay_fail(n <= MAX_CASES ? ASSAY_ERR_MEMORY : ASSAY_ERR_USAGE,
                          "key %s: no room for a list of %zu values",
                          assay_quote(word->key, word->key_length, quoted), n);

    const char *start = word->value;
    for (size_t i = 0; i < n; ++i) {
        part *p = &a->parts[i];
        const char *comma = memchr(start, ',', (size_t)(end - start));
        const char *stop = comma != NULL ? comma : end;
        *p = (part){.text = start, .length = (size_t)(stop - start), .count = 1};
        if (memchr(p->text, ':', p->length) != NULL) {
            status = parse_range(word, ranges, p);
            if (status != ASSAY_OK)
                return status;
        }
        a->n_parts = (int32_t)(i + 1);
        a->count += p->count;
        start = stop + 1;
    }
    return ASSAY_OK;
}

/* Room that the word takes in a case's text, with a blank. */
static size_t axis_room(const axis *a) {
    size_t longest = INT_DIGITS;
    for (int32_t i = 0; i < a->n_parts; ++i)
        longest = a->parts[i].length > longest ? a->parts[i].length : longest;
    return a->word.key_length + longest + 2;
}

/* Modulo 2^64, because the span of a legal range may exceed INT64_MAX. */
static int64_t range_value(const part *p, int64_t at) {
    return (int64_t)((uint64_t)p->first + (uint64_t)at * (uint64_t)p->step);
}

/* Appends " key=value" of the axis's current value; returns the new end. */
static char *axis_put(const axis *a, char *to) {
    const part *p = a->parts;
    int64_t at = a->at;
    for (; at >= p->count; ++p)
        at -= p->count;
    *to++ = ' ';
    memcpy(to, a->word.key, a->word.key_length);
    to += a->word.key_length;
    *to++ = '=';
    if (p->range)
        return to + sprintf(to, "%" PRId64, range_value(p, at));
    memcpy(to, p->text, p->length);
    return to + p->length;
}

/* To the next combination, the last axis fastest; false after the last. */
static bool advance(axis *axes, int32_t count) {
    for (int32_t i = count - 1; i >= 0; --i) {
        if (++axes[i].at < axes[i].count)
            return true;
        axes[i].at = 0;
    }
    return false;
}

static assay_status for_each(const assay_op *op, axis *axes, int32_t count, char *text,
                             assay_case_visitor visit, void *context) {
    do {
        char *end = text;
        for (int32_t i = 0; i < count; ++i)
            end = axis_put(&axes[i], end);
        *end = '\0';
        assay_case c;
        assay_status status = assay_case_parse_words(op, text, &c);
        if (status == ASSAY_OK)
            status = visit(&c, context);
        if (status != ASSAY_OK)
            return status;
    } while (advance(axes, count));
    return ASSAY_OK;
}

static assay_status accept(const assay_case *c, void *context) {
    (void)c;
    (void)context;
    return ASSAY_OK;
}

assay_status assay_case_expand(const assay_op *op, const char *const *words, int32_t count,
                               assay_case_visitor visit, void *context) {
    axis *axes = calloc(count > 0 ? (size_t)count : 1, sizeof *axes);
    char *text = NULL;
    assay_status status = ASSAY_OK;
    if (axes == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for the cases of %s", op->name);

    int64_t cases = 1;
    size_t room = 1;
    for (int32_t i = 0; i < count; ++i) {
        status = axis_init(op, words[i], &axes[i]);
        if (status != ASSAY_OK)
            goto done;
        room += axis_room(&axes[i]);
        cases *= axes[i].count; /* MAX_CASES values at most, each a range of as many and one */
        if (cases > MAX_CASES) {
            status = assay_fail(ASSAY_ERR_USAGE,
                                "%s: these words ask for more than %d cases; shorten a list or "
                                "widen a step",
                                op->name, MAX_CASES);
            goto done;
        }
    }
    text = malloc(room);
    if (text == NULL) {
        status = assay_fail(ASSAY_ERR_MEMORY, "no memory for the cases of %s", op->name);
        goto done;
    }
    /* Once without a visit, so that a word at fault is named before any work begins. */
    status = for_each(op, axes, count, text, accept, NULL);
    if (status == ASSAY_OK)
        status = for_each(op, axes, count, text, visit, context);
done:
    for (int32_t i = 0; i < count; ++i)
        free(axes[i].parts);
    free(axes);
    free(text);
    return status;
}
