/* The scope of a check, with its parts left out: a verdict says nothing beyond its scope. */
#ifndef ASSAY_ENGINE_SCOPE_H
#define ASSAY_ENGINE_SCOPE_H

#include "assay/case.h"

#include <stdbool.h>

enum { SCOPE_TEXT = 64 };

typedef struct check_scope {
    bool forward; /* outputs alone: backward is not called */
    bool packed;  /* tensors without padding between rows, aligned to 256 bytes */
} check_scope;

/* The case within the scope. */
void scope_apply(check_scope scope, assay_case *c);

/* "forward", "packed", "forward packed"; "" for all that there is. */
const char *scope_words(check_scope scope);
/* False: those are no such words. */
bool scope_parse(const char *words, check_scope *scope);

/* For people: "forward only", "packed tensors only", or both. */
const char *scope_phrase(check_scope scope);

/* As flags, each behind a blank: " --stage forward --layout packed". */
const char *scope_flags(check_scope scope);

#endif
