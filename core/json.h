/* JSON, as it is written. */
#ifndef ASSAY_CORE_JSON_H
#define ASSAY_CORE_JSON_H

#include <stdio.h>

/* A string with its quotes; NULL is null. */
void json_string(FILE *to, const char *text);

/* A number that reads back to the same double; JSON has no NaN and no infinities: those are the
 * strings "nan", "inf" and "-inf". */
void json_number(FILE *to, double value);

#endif
