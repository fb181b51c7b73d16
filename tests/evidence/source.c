#include "tests/evidence/source.h"
#include "engine/random.h"

typedef struct search {
    const mode *mode;
    unsigned fills;
    int64_t left; /* cases that fit and come before the one that is sought */
    assay_case *found;
    bool done;
} search;

static assay_status visit(const assay_case *c, void *context) {
    search *s = context;
    if (s->done || !mode_is(s->mode, c) || (s->fills & ASSAY_FILL_BIT(c->fill)) == 0)
        return ASSAY_OK;
    if (s->left-- > 0)
        return ASSAY_OK;
    *s->found = *c;
    s->done = true;
    return ASSAY_OK;
}

static assay_status of_set(assay_set set, const mode *m, unsigned fills, int64_t index,
                           assay_case *c) {
    search s = {.mode = m, .fills = fills, .left = index, .found = c};
    const assay_status status = assay_op_visit_set(m->op, set, visit, &s);
    if (status != ASSAY_OK || s.done)
        return status;
    return assay_fail(ASSAY_ERR_UNSUPPORTED, "the set %s has no further case of %s",
                      assay_set_name(set), m->op->name);
}

assay_status source_case(const source *s, const mode *m, unsigned fills, int64_t index,
                         assay_case *c) {
    if (s->from_set)
        return of_set(s->set, m, fills, index, c);
    const random_wish wish = {.usual = true,
                              .dtypes = ASSAY_DTYPE_BIT(m->dtype),
                              .maths = ASSAY_MATH_BIT(m->math),
                              .fills = fills,
                              .budget = s->budget};
    return random_case(m->op, &wish, s->seed, index, c);
}
