#include "bench/seeds/seeds.h"

#include "assay/op.h"

#include <math.h>
#include <string.h>

/* The three scenarios: a case without steps, forward and both ways, and one with a single step. */
enum { FORWARD, FORWARD_BACKWARD, FULL_STEP, SCENARIOS };
static const char *const scenario[SCENARIOS] = {"forward", "fwd_bwd", "full_step"};

/* The row of an arm in one scenario, found from the case without steps. */
static const bench_row *row_of(const bench_results *results, const bench_row *of, const char *arm,
                               int which) {
    bench_row like = *of;
    assay_case c;
    if (which == FULL_STEP) {
        if (assay_case_parse(of->case_text, &c) != ASSAY_OK)
            return NULL;
        for (int32_t i = 0; i < c.params.count; ++i)
            if (strcmp(c.params.item[i].name, "steps") == 0)
                c.params.item[i].value[0] = 1;
        assay_case_format(&c, like.case_text);
    }
    return seeds_row(results, &like, arm, which == FORWARD_BACKWARD ? BENCH_BOTH : BENCH_FORWARD);
}

/* Elements of all parameters, and two extents that the columns want. */
static double parameters(const char *case_text, double *d, double *layers) {
    assay_case c;
    assay_signature sig;
    double count = 0;
    *d = *layers = NAN;
    if (assay_case_parse(case_text, &c) != ASSAY_OK || c.op->signature(&c.params, &sig) != ASSAY_OK)
        return NAN;
    for (int32_t i = 0; i < sig.n_in; ++i) {
        if (sig.in[i].dtype == ASSAY_I32)
            continue;
        count += (double)assay_spec_count(&sig.in[i]);
        if (strcmp(sig.in[i].name, "token_embeddings.weight") == 0)
            *d = (double)sig.in[i].shape[1];
    }
    *layers =
        (sig.n_in - 2 - 3) / 9; /* tokens and target; embedding, last norm and head; 9 a layer */
    assay_signature_clear(&sig);
    return count;
}

static bool has_steps(const bench_row *row) {
    return seeds_number(row->case_text, "steps") > 0;
}

void seeds_transformer_table(FILE *to, const bench_results *results) {
    const bench_row *of = NULL;
    fprintf(to, "%-7s %7s %-10s %12s %12s %9s %12s %9s\n", "size", "context", "scenario",
            "vanilla ms", "compiled ms", "speed-up", "assay v3 ms", "/vanilla");
    while ((of = seeds_next_case(results, "transformer", of))) {
        for (int s = FORWARD; !has_steps(of) && s < SCENARIOS; ++s) {
            const bench_row *vanilla = row_of(results, of, "torch", s),
                            *compiled = row_of(results, of, "torch-compile", s),
                            *ours = row_of(results, of, "v3", s);
            char size[64];
            fprintf(to, "%-7s %7.0f %-10s ", seeds_word(of->case_text, "size", size),
                    seeds_number(of->case_text, "t"), scenario[s]);
            seeds_cell(to, vanilla, seeds_mean(vanilla), 12, 3);
            seeds_cell(to, compiled, seeds_mean(compiled), 13, 3);
            seeds_times(to, seeds_mean(vanilla) / seeds_mean(compiled), 9);
            seeds_cell(to, ours, seeds_mean(ours), 13, 3);
            seeds_times(to, seeds_mean(vanilla) / seeds_mean(ours), 9);
            fputc('\n', to);
        }
    }
}

static void csv_times(FILE *to, const bench_results *results, const bench_row *of, int s) {
    const bench_row *vanilla = row_of(results, of, "torch", s),
                    *compiled = row_of(results, of, "torch-compile", s),
                    *ours = row_of(results, of, "v3", s);
    const double numbers[] = {seeds_mean(vanilla),
                              seeds_mean(compiled),
                              seeds_mean(vanilla) / seeds_mean(compiled),
                              seeds_deviation(vanilla),
                              seeds_deviation(compiled),
                              seeds_mean(ours),
                              seeds_deviation(ours)};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
        fprintf(to, isnan(numbers[i]) ? "," : ",%.6f", numbers[i]);
}

assay_status seeds_transformer_csv(FILE *to, const bench_results *results) {
    const bench_row *of = NULL;
    fputs("model_size,context_length,num_params,num_params_millions,batch,d_model,layers", to);
    for (int s = FORWARD; s < SCENARIOS; ++s)
        fprintf(to,
                ",%s_vanilla_ms,%s_compiled_ms,%s_speedup,%s_vanilla_std_ms,%s_compiled_std_ms,"
                "%s_assay_ms,%s_assay_std_ms",
                scenario[s], scenario[s], scenario[s], scenario[s], scenario[s], scenario[s],
                scenario[s]);
    fputc('\n', to);
    while ((of = seeds_next_case(results, "transformer", of))) {
        char size[64];
        double d, layers;
        if (has_steps(of))
            continue;
        const double count = parameters(of->case_text, &d, &layers);
        fprintf(to, "%s,%.0f,%.0f,%.2f,%.0f,%.0f,%.0f", seeds_word(of->case_text, "size", size),
                seeds_number(of->case_text, "t"), count, 1e-6 * count,
                seeds_number(of->case_text, "b"), d, layers);
        for (int s = FORWARD; s < SCENARIOS; ++s)
            csv_times(to, results, of, s);
        fputc('\n', to);
    }
    return ASSAY_OK;
}
