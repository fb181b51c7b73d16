/* Shared by the parser of a whole case and the expansion of lists and ranges. */
#ifndef ASSAY_CORE_CASE_PARSE_H
#define ASSAY_CORE_CASE_PARSE_H

#include "assay/op.h"

/* One key=value word inside a longer text; nothing in it is terminated. */
typedef struct assay_word {
    const char *key, *value;
    size_t key_length, value_length;
} assay_word;

/* ASSAY_ERR_USAGE when `text` has no '='. */
assay_status assay_word_split(const char *text, size_t length, assay_word *word) ASSAY_MUST_CHECK;

/* A decimal integer that fills the text and fits. */
bool assay_parse_int(const char *text, size_t length, int64_t *value);

/* Whether the operator's or common key of that name takes integers: one, or a list, which may have
 * one element. */
bool assay_key_takes_range(const assay_op *op, const char *key, size_t length);

/* The value of a key of the operator, within its range. */
assay_status assay_param_parse(const assay_op *op, const assay_key *key, const char *text,
                               size_t length, assay_param *param) ASSAY_MUST_CHECK;

/* Parses a case of `op` whose words, without the operator's name, are `words`. */
assay_status assay_case_parse_words(const assay_op *op, const char *words,
                                    assay_case *c) ASSAY_MUST_CHECK;

/* The canonical text's length, whether or not it fits into `size` bytes. */
size_t assay_case_format_bounded(const assay_case *c, char *text, size_t size);

/* Foreign text for an error line: at most 40 bytes of it, all but printable ASCII escaped. */
enum { ASSAY_QUOTE_BYTES = 40, ASSAY_QUOTE = 4 * ASSAY_QUOTE_BYTES + 6 };
const char *assay_quote(const char *text, size_t length, char quoted[ASSAY_QUOTE]);

#endif
