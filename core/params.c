/* Apart from case.c: kernels ask for their parameters, and where they run there is no parser. */
#include "assay/case.h"
#include "assay/op.h"

#include <assert.h>
#include <string.h>

void assay_params_init(const assay_op *op, assay_params *params) {
    *params = (assay_params){.count = op->n_keys, .dtype = ASSAY_F32, .math = ASSAY_STRICT};
    for (int32_t i = 0; i < op->n_keys; ++i)
        params->item[i].name = op->keys[i].name;
}

const assay_param *assay_params_find(const assay_params *params, const char *name) {
    for (int32_t i = 0; i < params->count; ++i)
        if (strcmp(params->item[i].name, name) == 0)
            return &params->item[i];
    assert(false && "the operator declares every parameter that is asked for");
    return NULL;
}

int64_t assay_params_int(const assay_params *params, const char *name) {
    return assay_params_find(params, name)->value[0];
}
