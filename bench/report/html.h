/* Parts of the page that report_html puts together. */
#ifndef ASSAY_BENCH_REPORT_HTML_H
#define ASSAY_BENCH_REPORT_HTML_H

#include "bench/report/writers.h"

/* `<element class=class>text</element>`, escaped; no class where that is "". */
void html_element(FILE *to, const char *element, const char *class, const char *text);

/* A table in a box of its own, which scrolls where the table is wider than the page. */
void html_table_open(FILE *to, const char *id, const char *caption);
void html_table_close(FILE *to);
/* Heads of columns; those of numbers begin with `>`. */
void html_columns(FILE *to, const char *const *name, int count);

void html_verdict(FILE *to, const bench_ratio *ratio); /* three cells: ratio, interval, verdict */

void html_status(FILE *to, bench_status status); /* a cell */

/* Whether a table of that many rows is folded away at first. */
void html_fold_open(FILE *to, int64_t rows, const char *summary);
void html_fold_close(FILE *to);

/* ---- html_tables.c ---- */
void html_means(FILE *to, const view *v);
void html_cases(FILE *to, const view *v);
void html_rows(FILE *to, const view_section *section, int64_t number);
void html_bounds(FILE *to, const view *v);
void html_missing(FILE *to, const missing_list *list, const char *id, const char *caption);
void html_versions(FILE *to, const view *v);
void html_commands(FILE *to, const view *v);

#endif
