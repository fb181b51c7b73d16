#include "golden/state.h"
#include "golden/writer.h"

assay_status state_put(tensor_writer *w, const char *prefix, const assay_problem *p,
                       const assay_results *got) {
    const struct {
        const char *name;
        const assay_tensor_spec *specs;
        const assay_arrays *arrays; /* NULL: none */
    } groups[STATE_GROUPS] = {
        {"in", p->sig.in, &p->in},
        {"cot", p->sig.out, &p->cot},
        {"out", p->sig.out, got ? &got->out : NULL},
        {"grad", p->sig.in, got ? &got->grad : NULL},
    };
    char name[WRITER_NAME];
    assay_status status = ASSAY_OK;
    for (int g = 0; status == ASSAY_OK && g < STATE_GROUPS; ++g) {
        snprintf(name, sizeof name, "%s%s", prefix, groups[g].name);
        if (groups[g].arrays != NULL)
            status = writer_put_arrays(w, name, groups[g].specs, groups[g].arrays, false);
    }
    return status;
}

assay_status assay_state_try(const char *path) {
    replacement temporary;
    const assay_status status = replacement_begin(&temporary, path);
    replacement_clear(&temporary);
    return status;
}

assay_status assay_state_write(const char *path, const assay_problem *p, const assay_results *got) {
    tensor_writer w;
    assay_status status = writer_begin(&w, path);
    if (status != ASSAY_OK)
        return status;
    status = state_put(&w, "", p, got);
    if (status == ASSAY_OK)
        return writer_commit(&w);
    writer_clear(&w);
    return status;
}
