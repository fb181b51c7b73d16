#include "cli/variants.h"
#include "cli/nearest.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_VARIANTS = 32 };

typedef struct entry {
    const char *op;
    char names[160]; /* "v1 v2 v3", blanks turned to ends */
    const char *name[MAX_VARIANTS];
} entry;

static entry entries[] = {
#define ASSAY_OP(name, variants) {#name, #variants, {NULL}},
#include "oracles/ops.def"
#undef ASSAY_OP
};

/* NULL: the operator is not built in. */
static const entry *find(const assay_op *op) {
    for (size_t i = 0; i < sizeof entries / sizeof *entries; ++i)
        if (strcmp(entries[i].op, op->name) == 0)
            return &entries[i];
    return NULL;
}

__attribute__((constructor)) static void split(void) {
    for (size_t i = 0; i < sizeof entries / sizeof *entries; ++i) {
        char *rest = NULL;
        int n = 0;
        for (char *name = strtok_r(entries[i].names, " ", &rest); name != NULL && n < MAX_VARIANTS;
             name = strtok_r(NULL, " ", &rest))
            entries[i].name[n++] = name;
    }
}

const char *variant_name(const assay_op *op, int32_t i) {
    const entry *of = find(op);
    return of != NULL && i < MAX_VARIANTS ? of->name[i] : NULL;
}

bool variant_known(const assay_op *op, const char *name, const char **nearest) {
    const char *known;
    *nearest = NULL;
    for (int32_t i = 0; (known = variant_name(op, i)) != NULL; ++i) {
        if (strcmp(known, name) == 0)
            return true;
        nearest_offer(name, known, nearest);
    }
    return false;
}
