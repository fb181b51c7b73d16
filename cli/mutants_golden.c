/* assay mutants --golden: golden files made wrong, and the checks that find them. */
#include "cli/mutants.h"
#include "mutants/golden_edit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct edits_run {
    const assay_cli_args *args;
    golden_score score[GOLDEN_EDITS];
    int64_t unseen; /* coarse edits that the numbers did not tell */
} edits_run;

static bool named(const assay_cli_args *args, const assay_op *op) {
    for (int32_t i = 0; i < args->n_targets; ++i)
        if (args->target[i].op == op)
            return true;
    return args->n_targets == 0;
}

/* One ulp lies within what two fp64 computations may differ by; nothing else should. */
static void hear(const char *case_text, const char *tensor, golden_edit kind, void *context) {
    edits_run *r = context;
    r->unseen += kind != GOLDEN_ULP;
    if (kind != GOLDEN_ULP || r->args->verbose)
        fprintf(r->args->out.stream, "%s: %s: %s changes no verdict\n", case_text, tensor,
                golden_edit_name(kind));
}

static assay_status check_all(edits_run *r) {
    char folder[512];
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.400s/assay-golden-XXXXXX", parent ? parent : "/tmp");
    if (!mkdtemp(folder))
        return assay_fail(ASSAY_ERR_FILE, "%s: %s", folder, strerror(errno));
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; i < assay_op_count() && status == ASSAY_OK; ++i) {
        if (!named(r->args, assay_op_at(i)) || assay_cli_interrupted())
            continue;
        assay_cli_progress("golden files: %s", assay_op_at(i)->name);
        status = golden_edits_check(assay_op_at(i), folder, r->score, hear, r);
    }
    assay_cli_progress("%s", "");
    (void)rmdir(folder);
    return status;
}

assay_exit mutants_of_golden(const assay_cli_args *args) {
    edits_run r = {.args = args};
    int64_t made = 0;
    const assay_status status = check_all(&r);
    if (status != ASSAY_OK)
        return assay_cli_complain(status);
    fprintf(args->out.stream, "%-10s %8s %8s %8s %8s\n", "golden", "made", "refused", "wrong",
            "within");
    for (int kind = 0; kind < GOLDEN_EDITS; ++kind) {
        const golden_score *s = &r.score[kind];
        made += s->made;
        fprintf(args->out.stream, "%-10s %8" PRId64 " %8" PRId64 " %8" PRId64 " %8" PRId64 "\n",
                golden_edit_name((golden_edit)kind), s->made, s->refused, s->wrong, s->within);
    }
    if (assay_cli_interrupted())
        return ASSAY_EXIT_INTERRUPTED;
    return made > 0 && r.unseen == 0 ? ASSAY_EXIT_PASSED : ASSAY_EXIT_FAILED;
}
