#include "cli/fuzz.h"

#include <inttypes.h>
#include <string.h>

static const char *words_of(const char *text) {
    return text + strcspn(text, " ");
}

/* A relation is no part of check: fuzz judges a case that is named by it. */
static void print_repro(const fuzz_campaign *f, const fuzz_finding *finding) {
    const bool relation = finding->failure.relation[0] != '\0';
    const char *kernel = f->how.source != NULL ? f->how.source : f->how.kernel;
    char rows[32] = "";
    if (f->rows > 0)
        snprintf(rows, sizeof rows, " --rows %" PRId64, f->rows);
    fprintf(f->args->out.stream, "  again     assay %s %s%s%s%s%s%s --device %s%s%s\n",
            relation ? "fuzz" : "check", f->target[finding->target].op->name,
            finding->failure.variant[0] != '\0' ? "/" : "", finding->failure.variant,
            words_of(finding->shrunk), rows, scope_flags(f->args->scope), f->device,
            kernel != NULL ? " --kernel " : "", kernel != NULL ? kernel : "");
}

static const char *shrinking_of(const fuzz_finding *finding) {
    if (finding->smallest)
        return "";
    return finding->again ? " (there may be smaller ones)" : " (did not fail again when run alone)";
}

void fuzz_print_finding(const fuzz_campaign *f, const fuzz_finding *finding) {
    const fuzz_failure *failure = &finding->failure;
    FILE *to = f->args->out.stream;
    assay_cli_progress("%s", "");
    fprintf(to, "%s %s%s%s%s%s%s%s: %s\n", fuzz_kind_name(failure->kind),
            f->target[finding->target].op->name, failure->variant[0] != '\0' ? "/" : "",
            failure->variant, failure->relation[0] != '\0' ? " " : "", failure->relation,
            failure->tensor[0] != '\0' ? " " : "", failure->tensor, failure->reason);
    fprintf(to, "  met as    %s (case %" PRId64 ", %.1f s)\n", finding->found, finding->first,
            finding->seconds);
    fprintf(to, "  smallest  %s%s\n", finding->shrunk, shrinking_of(finding));
    print_repro(f, finding);
    fflush(to);
}

void fuzz_print_summary(const fuzz_campaign *f, const fuzz_state *state, const char *whose) {
    FILE *to = f->args->out.stream;
    const double rate = state->seconds > 0 ? (double)state->settled / state->seconds : 0;
    assay_cli_progress("%s", "");
    fprintf(to, "%s%" PRId64 " case%s in %.1f s, %.3g a second", whose, state->settled,
            state->settled == 1 ? "" : "s", state->seconds, rate);
    fprintf(to,
            "; of variants: %" PRId64 " passed, %" PRId64 " failed, %" PRId64
            " mistrusted, %" PRId64 " skipped",
            state->passed, state->failed, state->mistrusted, state->skipped);
    if (state->declined > 0)
        fprintf(to, "; %" PRId64 " case%s could not be made", state->declined,
                state->declined == 1 ? "" : "s");
    if (state->population.count > 0)
        fprintf(to, "; %" PRId32 " showed something new", state->population.count);
    if (fuzz_population_edges(&state->population) > 0)
        fprintf(to, "; %" PRId32 " branches taken", fuzz_population_edges(&state->population));
    fprintf(to, "; %" PRId32 " finding%s%s%s\n", state->findings.count,
            state->findings.count == 1 ? "" : "s",
            *scope_phrase(f->args->scope) != '\0' ? "; " : "", scope_phrase(f->args->scope));
}
