#include "mutants/layer.h"

#include <string.h>

static const char *const names[MUTANT_LAYERS] = {
    [LAYER_NONE] = "none",         [LAYER_BOUND] = "bound",   [LAYER_EXACT] = "exact",
    [LAYER_BASELINE] = "baseline", [LAYER_GUARD] = "guard",   [LAYER_SIM] = "sim",
    [LAYER_REFUSED] = "refused",   [LAYER_CRASH] = "crash",   [LAYER_HANG] = "hang",
    [LAYER_PROPERTY] = "property", [LAYER_GOLDEN] = "golden", [LAYER_FUZZ] = "fuzz",
    [LAYER_ASAN] = "asan",         [LAYER_RACE] = "race",     [LAYER_UNIT] = "unit",
    [LAYER_TWIN] = "twin",         [LAYER_CHECK] = "check",   [LAYER_SUITE] = "suite"};

const char *mutant_layer_name(mutant_layer layer) {
    return names[layer];
}

mutant_layer mutant_layer_find(const char *name) {
    int layer = 0;
    while (layer < MUTANT_LAYERS && strcmp(names[layer], name) != 0)
        ++layer;
    return (mutant_layer)layer;
}

mutant_layer mutant_layer_of(assay_status status, assay_failure failure) {
    static const mutant_layer layers[] = {
        [ASSAY_FAILURE_OTHER] = LAYER_SIM,       [ASSAY_FAILURE_WRONG] = LAYER_SIM,
        [ASSAY_FAILURE_STRAY] = LAYER_GUARD,     [ASSAY_FAILURE_CRASH] = LAYER_CRASH,
        [ASSAY_FAILURE_HANG] = LAYER_HANG,       [ASSAY_FAILURE_MEMORY] = LAYER_CRASH,
        [ASSAY_FAILURE_UNEQUAL] = LAYER_PROPERTY};
    return status == ASSAY_ERR_UNSUPPORTED ? LAYER_REFUSED : layers[failure];
}
