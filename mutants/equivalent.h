/*
 * The reviewed list of mutants that are no defects: equivalent.txt, one a line,
 *
 *     file | rule | line -> mutated line | occurrence | reason
 *
 * with blanks as one; @ stands for any text, so that one entry may be of all mutants that are alike
 * for one reason. Lines that are empty or begin with # say nothing. The list must be true: an
 * entry that no mutant answers to, or whose mutant is killed, is an error.
 */
#ifndef ASSAY_MUTANTS_EQUIVALENT_H
#define ASSAY_MUTANTS_EQUIVALENT_H

#include "mutants/mutant.h"

typedef struct equivalents {
    char *text;
    char **line; /* into `text` */
    char **reason;
    bool *met;
    int32_t count;
} equivalents;

assay_status equivalents_read(equivalents *all, const char *path) ASSAY_MUST_CHECK;
void equivalents_clear(equivalents *all);

/* The reason why it is no defect; NULL: it is not on the list. Marks the entry as met. */
const char *equivalents_find(equivalents *all, const mutant *m);

/* A mutant as an entry of the list, without a reason; the caller frees it. NULL: no memory. */
char *equivalent_entry(const mutant *m);

#endif
