/* The contents of a file after it is rewritten: its cases' names, in order, each with its seal. */
#ifndef ASSAY_GOLDEN_CONTENTS_H
#define ASSAY_GOLDEN_CONTENTS_H

#include "golden/record.h"

typedef struct golden_item {
    char text[ASSAY_CASE_TEXT];
    char seal[GOLDEN_SHA256]; /* once it is written */
} golden_item;

typedef struct golden_contents {
    golden_item *item; /* by text */
    size_t count;
} golden_contents;

/* Adds a case, unless it is there already. */
assay_status golden_contents_add(golden_contents *contents, const char *text) ASSAY_MUST_CHECK;
void golden_contents_clear(golden_contents *contents);

#endif
