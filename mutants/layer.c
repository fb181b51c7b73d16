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

/* The lines of isolate.c and guest.c begin with "its process"; the runner's name the guard zones.
 */
mutant_layer mutant_layer_of(assay_status status, const char *line) {
    if (status == ASSAY_ERR_UNSUPPORTED)
        return LAYER_REFUSED;
    if (strstr(line, "its process"))
        return strstr(line, "no answer after") ? LAYER_HANG : LAYER_CRASH;
    if (strstr(line, "wrote outside") || strstr(line, "changed its input"))
        return LAYER_GUARD;
    return LAYER_SIM;
}
