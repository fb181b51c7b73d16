/*
 * Whole numbers, written with the names of a case's sizes: cdiv(x.rows, 4) * 32.
 *
 *     a || b   a && b   a == b   a != b   a < b   a <= b   a > b   a >= b   a + b   a - b
 *     a * b   a / b   a % b   -a   (a)   cdiv(a, b)   min(a, b)   max(a, b)   names   numbers
 *
 * as C has them, in 64 bits; cdiv is a / b, rounded up. Names have letters, digits, _ and dots.
 */
#ifndef ASSAY_ENGINE_EXPRESSION_H
#define ASSAY_ENGINE_EXPRESSION_H

#include "assay/status.h"

#include <stdint.h>

typedef struct expression_names {
    assay_status (*find)(const void *data, const char *name, int64_t *value);
    const void *data;
} expression_names;

/* Those of a list with commas between them: `most` values at most; *count: how many there are.
 *   ASSAY_ERR_USAGE        the text is no such list
 *   ASSAY_ERR_UNSUPPORTED  a division by 0, a number of more than 64 bits; or as find() has it */
assay_status expression_values(const char *text, const expression_names *names, int most,
                               int64_t *values, int *count) ASSAY_MUST_CHECK;

/* Whether it is one, for any values of its names. */
assay_status expression_check(const char *text, int most) ASSAY_MUST_CHECK;

#endif
