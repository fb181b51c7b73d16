/* Text from anywhere, within a format of which no byte of it may become part. */
#ifndef ASSAY_BENCH_REPORT_ESCAPE_H
#define ASSAY_BENCH_REPORT_ESCAPE_H

#include <stdio.h>

void escape_terminal(FILE *to, const char *text); /* control characters are '?' */
void escape_csv(FILE *to, const char *text);      /* RFC 4180: quoted where it must be */
void escape_markdown(FILE *to, const char *text); /* GitHub's, also within a table */
void escape_markup(FILE *to, const char *text);   /* HTML and XML, also within an attribute */

#endif
