#include "assay/golden.h"
#include "engine/check.h"

enum { PATH_SIZE = 4096 };

assay_status assay_problem_load(assay_problem *p, const assay_case *c) {
    if (c->fill != ASSAY_FILL_GOLDEN)
        return assay_problem_init(p, c);
    char path[PATH_SIZE];
    assay_golden golden;
    assay_status status = assay_golden_path(c->op, path, sizeof path);
    if (status == ASSAY_OK)
        status = assay_golden_read(path, c, &golden);
    if (status != ASSAY_OK)
        return status;
    *p = golden.problem;
    p->c = *c; /* a golden file holds data; layout and schedule are the asker's */
    if (c->forward_only)
        assay_signature_drop_gradients(&p->sig);
    golden.problem = (assay_problem){0};
    assay_golden_clear(&golden);
    return ASSAY_OK;
}
