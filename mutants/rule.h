/*
 * The rules by which a kernel's source is made wrong. A rule looks at one token and proposes others
 * in its place: a slip that people make, or one that CUDA invites.
 */
#ifndef ASSAY_MUTANTS_RULE_H
#define ASSAY_MUTANTS_RULE_H

#include "mutants/phrase.h"

/* `length` bytes at `at` become `text`. */
typedef struct edit {
    const char *rule;
    int32_t at, length, line;
    char *text;
} edit;

typedef struct edits {
    edit *item;
    int32_t count, room;
    const lexed *code;
    const char *rule; /* that is at work */
    assay_status status;
} edits;

void edits_clear(edits *e);

/* Replaces a phrase. Its line ends are kept, so that all other lines keep their numbers. */
void edits_add(edits *e, phrase p, const char *format, ...) ASSAY_PRINTF(3, 4);

/* A phrase for edits_add's format: "%.*s", PHRASE(code, p). */
#define PHRASE(code, p) (int)phrase_length(code, p), (code)->text + phrase_at(code, p)

typedef struct rule {
    const char *name;
    const char *what; /* one line for the documentation */
    void (*apply)(const lexed *code, int32_t i, edits *to);
} rule;

/* Slips that any program invites, and those of CUDA and of numbers. */
extern const rule rules_plain[], rules_device[];
extern const int32_t n_rules_plain, n_rules_device;

#endif
