#include "fuzz/search/finding.h"

#include <stdlib.h>
#include <string.h>

void fuzz_findings_clear(fuzz_findings *all) {
    free(all->finding);
    *all = (fuzz_findings){0};
}

static bool same(const fuzz_finding *a, const fuzz_finding *b) {
    return a->target == b->target && a->failure.kind == b->failure.kind &&
           strcmp(a->failure.variant, b->failure.variant) == 0 &&
           strcmp(a->failure.relation, b->failure.relation) == 0 &&
           strcmp(a->shrunk, b->shrunk) == 0;
}

assay_status fuzz_findings_add(fuzz_findings *all, const fuzz_finding *finding) {
    for (int32_t i = 0; i < all->count; ++i)
        if (same(&all->finding[i], finding)) {
            if (finding->first < all->finding[i].first)
                all->finding[i] = *finding;
            return ASSAY_OK;
        }
    if (all->count == all->room) {
        const int32_t room = all->room > 0 ? 2 * all->room : 16;
        fuzz_finding *larger = realloc(all->finding, (size_t)room * sizeof *larger);
        if (!larger)
            return assay_fail(ASSAY_ERR_MEMORY, "no memory for the findings");
        all->finding = larger;
        all->room = room;
    }
    all->finding[all->count++] = *finding;
    return ASSAY_OK;
}
