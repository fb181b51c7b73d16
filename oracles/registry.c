#include "assay/op.h"

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

enum { BUILT_IN = sizeof operators / sizeof *operators, MOST_ADDED = 16, NAME = 48 };
static const assay_op *added[MOST_ADDED];
static int32_t n_added;

int32_t assay_op_count(void) {
    return BUILT_IN + n_added;
}

const assay_op *assay_op_at(int32_t i) {
    return i < BUILT_IN ? operators[i] : added[i - BUILT_IN];
}

const assay_op *assay_op_find(const char *name, size_t n) {
    for (int32_t i = 0; i < assay_op_count(); ++i)
        if (strlen(assay_op_at(i)->name) == n && memcmp(assay_op_at(i)->name, name, n) == 0)
            return assay_op_at(i);
    return NULL;
}

/* ---- those that are added ---- */

static bool is_name(const char *text) {
    return text && *text >= 'a' && *text <= 'z' && strlen(text) < NAME &&
           text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

/* A member without which the parts of assay cannot do with it; NULL: it has all. */
static const char *missing_member(const assay_op *op) {
    const struct {
        const char *name;
        bool there;
    } needed[] = {
        {"forward_formula", op->forward_formula != NULL},
        {"backward_formula", op->backward == NULL || op->backward_formula != NULL},
        {"keys", op->keys != NULL && op->n_keys > 0 && op->n_keys <= ASSAY_MAX_KEYS},
        {"dtypes", op->dtypes != 0},
        {"maths", op->maths != 0},
        {"legal", op->legal != NULL},
        {"signature", op->signature != NULL},
        {"forward", op->forward != NULL},
        {"forward_bound", op->forward_bound != NULL},
        {"backward_bound", op->backward == NULL || op->backward_bound != NULL},
        {"work", op->work != NULL},
        {"draw", op->draw != NULL},
        {"cases", op->cases != NULL && op->n_cases > 0},
        {"relations", op->relations != NULL || op->n_relations == 0},
    };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; ++i)
        if (!needed[i].there)
            return needed[i].name;
    return NULL;
}

assay_status assay_op_add(const assay_op *op) {
    if (!is_name(op->name))
        return assay_fail(ASSAY_ERR_USAGE,
                          "an operator's name is a letter, then up to %d letters, digits and _, "
                          "all small",
                          NAME - 2);
    if (assay_op_find(op->name, strlen(op->name)))
        return assay_fail(ASSAY_ERR_USAGE, "there is an operator %s already; give it another name",
                          op->name);
    const char *missing = missing_member(op);
    if (missing)
        return assay_fail(ASSAY_ERR_USAGE,
                          "its assay_op %s has no .%s; include/assay/op.h says what that must do",
                          op->name, missing);
    if (n_added == MOST_ADDED)
        return assay_fail(ASSAY_ERR_USAGE, "no more than %d operators can be added", MOST_ADDED);
    added[n_added++] = op;
    return ASSAY_OK;
}

void assay_op_remove(const assay_op *op) {
    int32_t kept = 0;
    for (int32_t i = 0; i < n_added; ++i)
        if (added[i] != op)
            added[kept++] = added[i];
    n_added = kept;
}

/* ---- sets ---- */

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
