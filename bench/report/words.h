/* A case's text as words, "kronecker b=16 f=32x32 dtype=f32 seed=0", of any operator, known or not:
 * results outlive the build that made them. */
#ifndef ASSAY_BENCH_REPORT_WORDS_H
#define ASSAY_BENCH_REPORT_WORDS_H

#include "assay/case.h"

#include <stdbool.h>
#include <stddef.h>

/* Length of the operator's name, at most `most`. */
size_t words_operator(const char *text, size_t most);

/* The words behind the operator's name. */
void words_after_operator(const char *text, char words[ASSAY_CASE_TEXT]);

/* Leaves of `words` those that are also in `text`; those that are not also in `text`. */
void words_keep_shared(char words[ASSAY_CASE_TEXT], const char *text);
void words_drop(char words[ASSAY_CASE_TEXT], const char *text);

/* The next key=value word, *text moved behind it; false at the end. Words without a value are
 * passed over. */
typedef struct words_pair {
    const char *key, *value;
    int key_length, value_length;
} words_pair;
bool words_next(const char **text, words_pair *pair);

/* The value of a key; "" where the text does not have it. */
void words_value(const char *text, const char *key, char value[ASSAY_CASE_TEXT]);

/* Whether a value is one whole number above 0. */
bool words_integer(const words_pair *pair, double *value);

#endif
