/* Apart from registry.c: where variants run there are no operators. */
#include "assay/op.h"

const char *assay_stage_name(assay_stage stage) {
    static const char *const names[ASSAY_STAGES] = {"forward", "backward"};
    return names[stage];
}
