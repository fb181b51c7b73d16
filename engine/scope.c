#include "engine/scope.h"

#include <string.h>

typedef struct scope_text {
    const char *words, *phrase, *flags;
} scope_text;

/* By forward, then by packed. */
static const scope_text texts[2][2] = {
    {{"", "", ""}, {"packed", "packed tensors only", " --layout packed"}},
    {{"forward", "forward only", " --stage forward"},
     {"forward packed", "forward only, packed tensors only", " --stage forward --layout packed"}},
};

void scope_apply(check_scope scope, assay_case *c) {
    c->forward_only = scope.forward;
    if (scope.packed)
        c->pad = c->misalign = 0;
}

const char *scope_words(check_scope scope) {
    return texts[scope.forward][scope.packed].words;
}

bool scope_parse(const char *words, check_scope *scope) {
    for (int forward = 0; forward < 2; ++forward)
        for (int packed = 0; packed < 2; ++packed)
            if (strcmp(texts[forward][packed].words, words) == 0) {
                *scope = (check_scope){.forward = forward != 0, .packed = packed != 0};
                return true;
            }
    return false;
}

const char *scope_phrase(check_scope scope) {
    return texts[scope.forward][scope.packed].phrase;
}

const char *scope_flags(check_scope scope) {
    return texts[scope.forward][scope.packed].flags;
}
