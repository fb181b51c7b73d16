/* assay mutants --planted: faults at random places of the legal range, and the searches that
 * find them. */
#include "cli/mutants.h"
#include "mutants/planted_search.h"

#include <inttypes.h>
#include <stdlib.h>

static const char *const finders[PLANTED_FINDERS] = {"ci", "nightly", "fuzz 120 s", "fuzz 1 h"};
static const double seconds[PLANTED_FINDERS] = {0, 0, 120, 3600};
static const double usual_rate = 200;

typedef struct tally {
    int32_t planted, found[PLANTED_FINDERS];
} tally;

static void count(tally *t, const planted_row *row) {
    ++t->planted;
    for (int f = 0; f < PLANTED_FINDERS; ++f)
        t->found[f] += row->found[f];
}

static void put_head(FILE *to, const char *of) {
    fprintf(to, "| %s | planted |", of);
    for (int f = 0; f < PLANTED_FINDERS; ++f)
        fprintf(to, " %s |", finders[f]);
    fputs("\n|---|---|---|---|---|---|\n", to);
}

static void put_tally(FILE *to, const char *name, const tally *t) {
    fprintf(to, "| %s | %" PRId32 " |", name, t->planted);
    for (int f = 0; f < PLANTED_FINDERS; ++f)
        fprintf(to, " %.1f %% |", 100.0 * t->found[f] / t->planted);
    putc('\n', to);
}

/* A line for each site of the operator of which a fault was missed by all. */
static void put_missed(FILE *to, const planted_row *row, int32_t n, bool all) {
    for (int32_t i = 0; i < n; ++i) {
        const planted_row *r = &row[i];
        if (all || !r->found[PLANTED_LONG])
            fprintf(to, "%s %s: %s:%s%s%s%s\n", r->found[PLANTED_LONG] ? "found " : "missed",
                    r->fault.op->name, r->fault.text, r->found[PLANTED_CI] ? " ci" : "",
                    r->found[PLANTED_NIGHTLY] ? " nightly" : "",
                    r->found[PLANTED_SHORT] ? " 120s" : "", r->found[PLANTED_LONG] ? " 1h" : "");
    }
}

static void count_all(tally of_class[PLANTED_CLASSES], tally *of_op, const planted_row *row,
                      int32_t n) {
    for (int32_t i = 0; i < n; ++i) {
        count(&of_class[row[i].fault.kind], &row[i]);
        count(of_op, &row[i]);
    }
}

static bool selected(const assay_cli_args *args, const assay_op *op) {
    for (int32_t i = 0; i < args->n_targets; ++i)
        if (args->target[i].op == op)
            return true;
    return args->n_targets == 0;
}

static assay_status plant_all(const assay_cli_args *args, const planted_plan *plan,
                              tally of_class[PLANTED_CLASSES], tally *of_op) {
    for (int32_t i = 0; i < assay_op_count(); ++i) {
        planted_row *row;
        int32_t n;
        if (!selected(args, assay_op_at(i)))
            continue;
        assay_cli_progress("faults planted in %s", assay_op_at(i)->name);
        const assay_status status = planted_search(plan, assay_op_at(i), &row, &n);
        if (status != ASSAY_OK)
            return status;
        assay_cli_progress("%s", "");
        count_all(of_class, &of_op[i], row, n);
        put_missed(args->out.stream, row, n, args->verbose);
        free(row);
    }
    return ASSAY_OK;
}

assay_exit mutants_of_cases(const assay_cli_args *args) {
    FILE *to = args->out.stream;
    const double rate = args->rate > 0 ? args->rate : usual_rate;
    tally of_class[PLANTED_CLASSES] = {0}, all = {0};
    tally *of_op = calloc((size_t)assay_op_count(), sizeof *of_op);
    planted_plan plan = {
        .seed = args->seed, .each = (int32_t)args->planted, .interrupted = assay_cli_interrupted};
    for (int f = 0; f < PLANTED_FINDERS; ++f)
        plan.cases[f] = (int64_t)(rate * seconds[f]);
    assay_status status = of_op ? assay_device_open("sim", &plan.device)
                                : assay_fail(ASSAY_ERR_MEMORY, "no memory for a table");
    if (status == ASSAY_OK)
        status = plant_all(args, &plan, of_class, of_op);
    if (status != ASSAY_OK) {
        free(of_op);
        return assay_cli_interrupted() ? ASSAY_EXIT_INTERRUPTED : assay_cli_complain(status);
    }
    put_head(to, "class");
    for (int k = 0; k < PLANTED_CLASSES; ++k)
        if (of_class[k].planted > 0)
            put_tally(to, planted_class_name((planted_class)k), &of_class[k]);
    putc('\n', to);
    put_head(to, "operator");
    for (int32_t i = 0; i < assay_op_count(); ++i) {
        if (of_op[i].planted == 0)
            continue;
        put_tally(to, assay_op_at(i)->name, &of_op[i]);
        all.planted += of_op[i].planted;
        for (int f = 0; f < PLANTED_FINDERS; ++f)
            all.found[f] += of_op[i].found[f];
    }
    put_tally(to, "all", &all);
    free(of_op);
    return ASSAY_EXIT_PASSED;
}
