/* Looks at what writers of markup and tables wrote, as a reader would. */
#ifndef ASSAY_TESTS_BENCH_MARKUP_H
#define ASSAY_TESTS_BENCH_MARKUP_H

#include <stdbool.h>
#include <stdint.h>

/* Whether tags are balanced, attributes quoted and not repeated, every `<` and `&` one that XML
 * knows, every id there once and every #link to one. Otherwise `why` says what is not. */
bool markup_is_sound(const char *text, char why[256]);

/* RFC 4180: the fields of one record, quotes taken off, each a text of its own in `text`, which is
 * overwritten; *next moves behind the record. Returns their number, -1 for what is no CSV. */
int markup_csv_record(char **next, char *field[], int most);

#endif
