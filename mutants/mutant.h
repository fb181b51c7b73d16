/*
 * A mutant: one edit of one file. It is known by the file, the rule, the line as it was and as it
 * became, and, among equals, its number; not by where in the file it stands, so that an edit
 * elsewhere leaves it the same mutant.
 */
#ifndef ASSAY_MUTANTS_MUTANT_H
#define ASSAY_MUTANTS_MUTANT_H

#include "mutants/rule.h"
#include "mutants/source.h"

typedef struct mutant {
    const source *file;
    edit change;
    char *before, *after; /* the line that changes, blanks as one */
    int32_t occurrence;   /* among mutants that are alike in all of the above, from 1 */
    uint64_t key;         /* a hash of the words that identify it */
} mutant;

typedef struct mutants {
    mutant *item;
    int32_t count, room;
} mutants;

/* Adds all mutants of a file; `file` must outlive them. */
assay_status mutants_add(mutants *all, const source *file) ASSAY_MUST_CHECK;
void mutants_clear(mutants *all);

/* The file's text with the change in it; the caller frees it. NULL: no memory. */
char *mutant_text(const mutant *m);

#endif
