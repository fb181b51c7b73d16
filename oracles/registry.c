#include "assay/op.h"
#include "core/case_parse.h"

#include <stdlib.h>
#include <string.h>

#define ASSAY_OP(name, variants) extern const assay_op assay_op_##name;
#include "oracles/ops.def"
#undef ASSAY_OP

static const assay_op *const operators[] = {
#define ASSAY_OP(name, variants) &assay_op_##name,
#include "oracles/ops.def"
#undef ASSAY_OP
};

int32_t assay_op_count(void) {
    return (int32_t)(sizeof operators / sizeof operators[0]);
}

const assay_op *assay_op_at(int32_t i) {
    return operators[i];
}

const assay_op *assay_op_find(const char *name, size_t n) {
    for (int32_t i = 0; i < assay_op_count(); ++i)
        if (strlen(operators[i]->name) == n && memcmp(operators[i]->name, name, n) == 0)
            return operators[i];
    return NULL;
}

const char *assay_set_name(assay_set set) {
    static const char *const names[ASSAY_SETS] = {"smoke", "ci", "nightly", "edge", "bench"};
    return names[set];
}

/* Edge cases prove no number and bench cases are for a GPU, so they stand outside the chain
 * smoke ⊆ ci ⊆ nightly. */
static bool holds(assay_set set, assay_set group) {
    return set > ASSAY_NIGHTLY || group > ASSAY_NIGHTLY ? set == group : group <= set;
}

assay_status assay_op_visit_group(const assay_op *op, const assay_case_group *group,
                                  assay_case_visitor visit, void *context) {
    enum { MAX_WORDS = 32 };
    const char *words[MAX_WORDS];
    int32_t count = 0;
    char *text = strdup(group->words);
    if (text == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for the cases of %s", op->name);

    assay_status status = ASSAY_OK;
    char *rest = NULL;
    for (char *w = strtok_r(text, " \t", &rest); w != NULL; w = strtok_r(NULL, " \t", &rest)) {
        if (count == MAX_WORDS) {
            status = assay_fail(ASSAY_ERR_USAGE, "%s: a case group of more than %d words", op->name,
                                MAX_WORDS);
            goto done;
        }
        words[count++] = w;
    }
    status = assay_case_expand(op, words, count, visit, context);
done:
    free(text);
    return status;
}

assay_status assay_op_visit_set(const assay_op *op, assay_set set, assay_case_visitor visit,
                                void *context) {
    for (int32_t i = 0; i < op->n_cases; ++i) {
        if (!holds(set, op->cases[i].set))
            continue;
        assay_status status = assay_op_visit_group(op, &op->cases[i], visit, context);
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}
