#include "bench/seeds/seeds.h"

#include "assay/op.h"

#include <math.h>
#include <string.h>

/* The three scenarios: a case without steps, forward and both ways, and one with a single step. */
enum { FORWARD, FORWARD_BACKWARD, FULL_STEP, SCENARIOS };
static const char *const scenario[SCENARIOS] = {"forward", "fwd_bwd", "full_step"};

/* A scenario of the case that `of`, which has no steps, belongs to: a row with its case's text … */
static assay_status case_of(const bench_row *of, int which, bench_row *like) {
    assay_case c;
    *like = *of;
    if (which != FULL_STEP)
        return ASSAY_OK;
    const assay_status status = assay_case_parse(of->case_text, &c);
    if (status != ASSAY_OK)
        return status;
    for (int32_t i = 0; i < c.params.count; ++i)
        if (strcmp(c.params.item[i].name, "steps") == 0)
            c.params.item[i].value[0] = 1;
    assay_case_format(&c, like->case_text);
    return ASSAY_OK;
}
/* … and its stage. */
static bench_stage stage_of(int which) {
    return which == FORWARD_BACKWARD ? BENCH_BOTH : BENCH_FORWARD;
}

/* The rows of one scenario; NULL where there is none. */
typedef struct scenario_rows {
    const bench_row *vanilla;
    /* The fastest; where none has a time, the last. */
    const bench_row *compiled; /* as a whole, or by layers */
    const bench_row *ours;
} scenario_rows;

static bool is_compiled(const bench_row *row) {
    return strncmp(row->arm, "torch-compile", strlen("torch-compile")) == 0;
}

static scenario_rows rows_of(const bench_results *results, const bench_row *of, int which) {
    scenario_rows rows = {0};
    bench_row like;
    if (case_of(of, which, &like) != ASSAY_OK)
        return rows;
    rows.vanilla = seeds_row(results, &like, "torch", stage_of(which));
    rows.compiled = seeds_fastest(results, &like, stage_of(which), is_compiled);
    rows.ours = seeds_fastest(results, &like, stage_of(which), seeds_is_ours);
    return rows;
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
    fprintf(to, "%-7s %7s %-10s %12s %12s %9s %12s %9s  variant\n", "size", "context", "scenario",
            "vanilla ms", "compiled ms", "speed-up", "assay ms", "/vanilla");
    while ((of = seeds_next_case(results, "transformer", of))) {
        for (int s = FORWARD; !has_steps(of) && s < SCENARIOS; ++s) {
            const scenario_rows rows = rows_of(results, of, s);
            const double vanilla = seeds_mean(rows.vanilla), compiled = seeds_mean(rows.compiled),
                         ours = seeds_mean(rows.ours);
            char size[64];
            fprintf(to, "%-7s %7.0f %-10s ", seeds_word(of->case_text, "size", size),
                    seeds_number(of->case_text, "t"), scenario[s]);
            seeds_cell(to, rows.vanilla, vanilla, 12, 3);
            seeds_cell(to, rows.compiled, compiled, 13, 3);
            seeds_times(to, vanilla / compiled, 9);
            seeds_cell(to, rows.ours, ours, 13, 3);
            seeds_times(to, vanilla / ours, 9);
            fprintf(to, "  %s\n", rows.ours ? rows.ours->arm : "");
        }
    }
}

static void csv_times(FILE *to, const bench_results *results, const bench_row *of, int s) {
    const scenario_rows rows = rows_of(results, of, s);
    const double vanilla = seeds_mean(rows.vanilla), compiled = seeds_mean(rows.compiled);
    const double numbers[] = {vanilla,
                              compiled,
                              vanilla / compiled,
                              seeds_deviation(rows.vanilla),
                              seeds_deviation(rows.compiled),
                              seeds_mean(rows.ours),
                              seeds_deviation(rows.ours)};
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
