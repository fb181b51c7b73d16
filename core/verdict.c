#include "assay/verdict.h"

#include <stddef.h>

const char *assay_verdict_name(assay_verdict verdict) {
    static const char *const names[] = {"pass", "skip", "mistrusted", "fail", "error"};
    return (size_t)verdict < sizeof names / sizeof names[0] ? names[verdict] : "error";
}

assay_verdict assay_verdict_merge(assay_verdict a, assay_verdict b) {
    assay_verdict worst = a > b ? a : b;
    assay_verdict best = a > b ? b : a;
    return worst == ASSAY_SKIP && best == ASSAY_PASS ? ASSAY_PASS : worst;
}
