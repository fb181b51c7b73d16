/* assay mutants: checks the checks, by kernels that are made wrong on purpose. */
#include "cli/mutants.h"
#include "core/clock.h"
#include "core/mix.h"
#include "core/place.h"
#include "core/sink.h"
#include "engine/random.h"
#include "mutants/campaign.h"
#include "mutants/equivalent.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RANDOM_CASES = 60, PATH_SIZE = 512, SINKS = 2 };

typedef struct run {
    const assay_cli_args *args;
    sources sources;
    mutants mutants;
    equivalents equivalents;
    mutant_rows rows;
    builder builder;
    operator_cases *cases;
    int32_t n_cases;
    int32_t *turn; /* rows in the order in which they are checked */
    int32_t n_turns;
    const mutant **todo; /* not checked yet */
    int32_t *row_of;     /* of each: where its row is */
    int32_t n_todo;
    FILE *csv; /* written as mutants are checked, to be there whatever ends this process */
    cli_sink json, markdown;
    char source[PATH_MAX], build[PATH_MAX]; /* the trees that this program is made from and in */
    char left_out[96];
} run;

static assay_status no_memory(void) {
    return assay_fail(ASSAY_ERR_MEMORY, "no memory for the mutants; name fewer operators");
}

/* ---- which mutants ---- */

static bool selected(const assay_cli_args *args, const assay_variant *v) {
    for (int32_t i = 0; i < args->n_targets; ++i)
        if (strcmp(args->target[i].op->name, v->op) == 0 &&
            (!args->target[i].variant || strcmp(args->target[i].variant, v->name) == 0))
            return true;
    return args->n_targets == 0;
}

static bool is_under(const char *path, const char *prefix) {
    return !prefix || strncmp(path, prefix, strlen(prefix)) == 0;
}

/* Headers that all operators share prove themselves before all of them only. */
static bool mutated(const run *r, const source *s) {
    return (!s->device || r->args->n_targets == 0) && is_under(s->path, r->args->under);
}

static bool names(const assay_cli_args *args, const assay_op *op) {
    for (int32_t i = 0; i < args->n_targets; ++i)
        if (args->target[i].op == op)
            return true;
    return args->n_targets == 0;
}

static assay_status list_oracles(run *r) {
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < assay_op_count(); ++i)
        if (names(r->args, assay_op_at(i)))
            status = sources_add_oracle(&r->sources, r->source, assay_op_at(i)->name);
    return status;
}

static assay_status list_kernels(run *r) {
    const assay_device *sim;
    assay_status status = assay_device_open("sim", &sim);
    for (int32_t v = 0; status == ASSAY_OK && v < sim->n_variants; ++v)
        if (!sim->variants[v]->lacks && selected(r->args, sim->variants[v]))
            status =
                sources_add(&r->sources, r->source, sim->variants[v]->op, sim->variants[v]->name);
    return status;
}

static assay_status make_mutants(run *r) {
    assay_status status = r->args->oracles ? list_oracles(r) : list_kernels(r);
    for (int32_t s = 0; status == ASSAY_OK && s < r->sources.count; ++s)
        if (mutated(r, &r->sources.item[s]))
            status = mutants_add(&r->mutants, &r->sources.item[s]);
    if (status == ASSAY_OK && r->args->under && r->mutants.count == 0)
        return assay_fail(ASSAY_ERR_USAGE,
                          "--under %.200s: no mutated file has a path that begins so; such a "
                          "path is kernels/rmsnorm/v3.cu",
                          r->args->under);
    return status;
}

typedef struct ticket {
    uint64_t number;
    int32_t row;
} ticket;

static int by_number(const void *a, const void *b) {
    const uint64_t x = ((const ticket *)a)->number, y = ((const ticket *)b)->number;
    return (x > y) - (x < y);
}

/* The sample are the mutants with the smallest numbers, in that order, so that what time leaves out
 * of it is drawn as well. A number depends on the seed and the mutant's key alone, so an edit of a
 * kernel changes few of a seed's sample. Mutants that are no defect are left to the runs of all. */
static assay_status draw_sample(run *r) {
    ticket *order = calloc((size_t)r->rows.count + 1, sizeof *order);
    if (!order)
        return no_memory();
    int32_t n = 0;
    for (int32_t i = 0; i < r->rows.count; ++i)
        if (!r->rows.row[i].equivalent)
            order[n++] =
                (ticket){.number = mix(r->rows.row[i].mutant->key ^ mix(r->rows.seed)), .row = i};
    qsort(order, (size_t)n, sizeof *order, by_number);
    for (int32_t i = 0; i < r->rows.count; ++i)
        r->rows.row[i].wanted = false;
    r->n_turns = (int32_t)(n < r->args->sample ? n : r->args->sample);
    for (int32_t i = 0; i < r->n_turns; ++i) {
        r->turn[i] = order[i].row;
        r->rows.row[order[i].row].wanted = true;
    }
    free(order);
    return ASSAY_OK;
}

/* Those that survive in the file, to be checked again. */
static assay_status keep_survivors(run *r) {
    const assay_status status = mutants_csv_read(r->args->survivors, &r->rows);
    for (int32_t i = 0; i < r->rows.count; ++i) {
        mutant_row *row = &r->rows.row[i];
        row->wanted = row->wanted && row->result.outcome == MUTANT_SURVIVED;
        row->result = (mutant_result){0};
    }
    return status;
}

static assay_status choose(run *r) {
    r->rows.count = r->mutants.count;
    r->rows.sample = r->args->sample;
    r->rows.seed = r->args->seed;
    r->rows.row = calloc((size_t)r->mutants.count + 1, sizeof *r->rows.row);
    r->todo = calloc((size_t)r->mutants.count + 1, sizeof *r->todo);
    r->row_of = calloc((size_t)r->mutants.count + 1, sizeof *r->row_of);
    r->turn = calloc((size_t)r->mutants.count + 1, sizeof *r->turn);
    if (!r->rows.row || !r->todo || !r->row_of || !r->turn)
        return no_memory();
    r->n_turns = r->mutants.count;
    for (int32_t i = 0; i < r->mutants.count; ++i) {
        const mutant *m = &r->mutants.item[i];
        r->turn[i] = i;
        r->rows.row[i] = (mutant_row){
            .mutant = m, .equivalent = equivalents_find(&r->equivalents, m), .wanted = true};
    }
    assay_status status = r->args->sample > 0 ? draw_sample(r) : ASSAY_OK;
    for (int32_t i = 0; r->args->share.parts > 0 && i < r->rows.count; ++i)
        if ((int64_t)(r->mutants.item[i].key % (uint64_t)r->args->share.parts) !=
            r->args->share.part - 1)
            r->rows.row[i].wanted = false;
    if (status == ASSAY_OK && r->args->survivors)
        status = keep_survivors(r);
    if (status == ASSAY_OK && r->args->resume)
        status = mutants_csv_read(r->args->resume, &r->rows);
    for (int32_t i = 0; i < r->n_turns; ++i)
        if (r->rows.row[r->turn[i]].wanted &&
            r->rows.row[r->turn[i]].result.outcome == MUTANT_PENDING) {
            r->row_of[r->n_todo] = r->turn[i];
            r->todo[r->n_todo++] = &r->mutants.item[r->turn[i]];
        }
    return status;
}

/* Whether mutants of the entry's file are made here; of one that names many, those of all are. */
static bool concerns(const run *r, const char *entry) {
    const size_t length = strcspn(entry, " ");
    if (memchr(entry, '@', length))
        return r->args->n_targets == 0 && !r->args->under;
    for (int32_t s = 0; s < r->sources.count; ++s)
        if (mutated(r, &r->sources.item[s]) && strlen(r->sources.item[s].path) == length &&
            strncmp(entry, r->sources.item[s].path, length) == 0)
            return true;
    return false;
}

/* An entry without a mutant is a mistake, or of a kernel that has changed. */
static assay_status check_list(const run *r) {
    for (int32_t e = 0; e < r->equivalents.count; ++e)
        if (!r->equivalents.met[e] && concerns(r, r->equivalents.line[e]))
            return assay_fail(ASSAY_ERR_FILE,
                              "mutants/equivalent.txt: no mutant matches this entry; remove it: "
                              "%.200s",
                              r->equivalents.line[e]);
    return ASSAY_OK;
}

/* ---- their checks ---- */

typedef struct collector {
    operator_cases *cases;
    test_case_set set;
    int32_t room;
} collector;

static bool has_case(const operator_cases *cases, const char *text) {
    for (int32_t t = 0; t < cases->n_tests; ++t)
        if (strcmp(cases->test[t].text, text) == 0)
            return true;
    return false;
}

static assay_status collect(const assay_case *c, void *context) {
    collector *to = context;
    operator_cases *cases = to->cases;
    char text[ASSAY_CASE_TEXT];
    if (has_case(cases, assay_case_format(c, text)))
        return ASSAY_OK;
    if (cases->n_tests == to->room) {
        to->room = 2 * to->room + 64;
        test_case *more = realloc(cases->test, (size_t)to->room * sizeof *more);
        if (!more)
            return no_memory();
        cases->test = more;
    }
    test_case *t = &cases->test[cases->n_tests];
    *t = (test_case){.set = to->set, .text = strdup(text)};
    if (!t->text)
        return no_memory();
    ++cases->n_tests;
    return ASSAY_OK;
}

static assay_status collect_cases(const assay_op *op, operator_cases *cases) {
    static const struct {
        test_case_set to;
        assay_set from;
    } sets[] = {
        {TEST_CASE_SMOKE, ASSAY_SMOKE}, {TEST_CASE_CI, ASSAY_CI}, {TEST_CASE_EDGE, ASSAY_EDGE}};
    collector to = {.cases = cases};
    assay_status status = ASSAY_OK;
    cases->op = op;
    for (size_t s = 0; s < sizeof sets / sizeof *sets; ++s)
        for (int32_t g = 0; status == ASSAY_OK && g < op->n_cases; ++g) {
            to.set = sets[s].to;
            if (op->cases[g].set == sets[s].from)
                status = assay_op_visit_group(op, &op->cases[g], collect, &to);
        }
    to.set = TEST_CASE_RANDOM;
    return status == ASSAY_OK ? random_cases(op, 1, RANDOM_CASES, collect, &to) : status;
}

static assay_status gather_cases(run *r) {
    assay_status status = ASSAY_OK;
    r->cases = calloc((size_t)assay_op_count(), sizeof *r->cases);
    if (!r->cases)
        return no_memory();
    for (int32_t i = 0; status == ASSAY_OK && i < assay_op_count(); ++i)
        status = collect_cases(assay_op_at(i), &r->cases[r->n_cases++]);
    return status;
}

/* A build beside this one that can check: it has commands, and the program that runs variants. */
static bool find_build(const run *r, const char *name, char path[PATH_SIZE]) {
    char part[PATH_SIZE + 32];
    snprintf(path, PATH_SIZE, "%.400s/../%s", r->build, name);
    snprintf(part, sizeof part, "%s/engine/assay_guest", path);
    const bool guest = access(part, X_OK) == 0;
    snprintf(part, sizeof part, "%s/compile_commands.json", path);
    return guest && access(part, R_OK) == 0;
}

static void leave_out(run *r, const char *what) {
    const size_t n = strlen(r->left_out);
    snprintf(r->left_out + n, sizeof r->left_out - n, "%s%s", n > 0 ? ", " : "", what);
}

static assay_status open_builder(run *r) {
    char asan[PATH_SIZE];
    const bool has_asan = find_build(r, "asan", asan);
    const assay_status status =
        builder_init(&r->builder, r->source, r->build, has_asan ? asan : NULL);
    if (!builder_has_unit(&r->builder))
        leave_out(r, "assay_unit (the headers' own tests)");
    if (!has_asan)
        leave_out(r, "build/asan");
    if (!builder_has(&r->builder, BUILD_RACE))
        leave_out(r, "assay_recorded_guest (the race recorder)");
    r->rows.left_out = r->left_out;
    return status;
}

/* ---- while they check ---- */

static void hear(const mutant *m, const mutant_result *result, int32_t done, void *context) {
    run *r = context;
    int32_t i = 0;
    while (r->todo[i] != m)
        ++i;
    mutant_row *row = &r->rows.row[r->row_of[i]];
    row->result = *result;
    if (r->csv) {
        mutants_csv_row(r->csv, row);
        fflush(r->csv);
    }
    assay_cli_progress("[%" PRId32 "/%" PRId32 "] %s:%" PRId32 " %s", done, r->n_todo,
                       m->file->path, m->change.line, mutant_outcome_name(result->outcome));
}

/* What there was no time to begin is not of the sample. */
static void leave_to_others(run *r, int32_t begun) {
    for (int32_t i = begun; i < r->n_todo; ++i)
        r->rows.row[r->row_of[i]].wanted = false;
    r->rows.cut_at = begun < r->n_todo ? begun : 0;
}

static assay_status check_all(run *r) {
    const double start = now();
    const int64_t processors = sysconf(_SC_NPROCESSORS_ONLN);
    const campaign c = {.builder = &r->builder,
                        .cases = r->cases,
                        .n_cases = r->n_cases,
                        .mutant = r->todo,
                        .count = r->n_todo,
                        .jobs = (int32_t)(r->args->jobs > 0 ? r->args->jobs : processors),
                        .seconds = r->args->seconds,
                        .visit = hear,
                        .context = r,
                        .interrupted = assay_cli_interrupted};
    int32_t begun = 0;
    assay_status status = builder_prepare(&r->builder);
    if (status == ASSAY_OK)
        status = campaign_run(&c, &begun);
    if (status == ASSAY_OK && !assay_cli_interrupted())
        leave_to_others(r, begun);
    assay_cli_progress("%s", "");
    r->rows.seconds = now() - start;
    return status;
}

/* ---- after ---- */

static assay_status open_csv(run *r) {
    if (!r->args->csv)
        return ASSAY_OK;
    r->csv = strcmp(r->args->csv, "-") == 0 ? stdout : fopen(r->args->csv, "w");
    if (!r->csv)
        return assay_fail(ASSAY_ERR_FILE, "%.300s: %s", r->args->csv, strerror(errno));
    mutants_csv_head(r->csv);
    for (int32_t i = 0; i < r->rows.count; ++i)
        if (r->rows.row[i].result.outcome != MUTANT_PENDING)
            mutants_csv_row(r->csv, &r->rows.row[i]);
    return ASSAY_OK;
}

static assay_status open_reports(run *r) {
    assay_status status = open_csv(r);
    if (status == ASSAY_OK && r->args->json)
        status = sink_open(&r->json, r->args->json);
    if (status == ASSAY_OK && r->args->markdown)
        status = sink_open(&r->markdown, r->args->markdown);
    return status;
}

/* Everything that was to be written is. */
static assay_status close_csv(run *r) {
    FILE *file = r->csv;
    r->csv = NULL;
    if (!file || (fflush(file) == 0 && !ferror(file) && (file == stdout || fclose(file) == 0)))
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_FILE, "%.300s: %s", r->args->csv, strerror(errno));
}

static assay_status write_reports(run *r) {
    assay_status status = mutants_text(r->args->out.stream, &r->rows, r->args->verbose);
    if (r->json.stream)
        mutants_json(r->json.stream, &r->rows);
    if (r->markdown.stream)
        mutants_markdown(r->markdown.stream, &r->rows);
    cli_sink *const sinks[SINKS] = {&r->json, &r->markdown};
    const assay_status closed = close_csv(r);
    status = status == ASSAY_OK ? closed : status;
    for (int i = 0; i < SINKS && status == ASSAY_OK; ++i)
        if (sinks[i]->stream)
            status = sink_commit(sinks[i]);
    return status;
}

static assay_exit exit_code(const run *r) {
    return assay_cli_interrupted() ? ASSAY_EXIT_INTERRUPTED
                                   : mutants_gate(&r->rows, r->args->at_least);
}

static void run_clear(run *r) {
    sink_discard(&r->json);
    sink_discard(&r->markdown);
    if (r->csv && r->csv != stdout)
        fclose(r->csv);
    for (int32_t c = 0; c < r->n_cases; ++c) {
        for (int32_t t = 0; t < r->cases[c].n_tests; ++t) {
            char *text = (char *)r->cases[c].test[t].text;
            test_case_clear(&r->cases[c].test[t]);
            free(text);
        }
        free(r->cases[c].test);
    }
    free(r->cases);
    free(r->rows.row);
    free(r->turn);
    free(r->todo);
    free(r->row_of);
    builder_clear(&r->builder);
    equivalents_clear(&r->equivalents);
    mutants_clear(&r->mutants);
    sources_clear(&r->sources);
}

assay_exit assay_cli_mutants(const assay_cli_args *args) {
    run r = {.args = args};
    if (args->golden)
        return mutants_of_golden(args);
    if (args->planted > 0)
        return mutants_of_cases(args);
    char listed[PATH_MAX + 32];
    assay_status status = assay_place("source", r.source);
    if (status == ASSAY_OK)
        status = assay_place("build", r.build);
    if (status == ASSAY_OK) {
        snprintf(listed, sizeof listed, "%s/mutants/equivalent.txt", r.source);
        status = equivalents_read(&r.equivalents, listed);
    }
    if (status == ASSAY_OK)
        status = make_mutants(&r);
    if (status == ASSAY_OK)
        status = choose(&r);
    if (status == ASSAY_OK)
        status = check_list(&r);
    if (status == ASSAY_OK)
        status = gather_cases(&r);
    if (status == ASSAY_OK)
        status = open_builder(&r);
    if (status == ASSAY_OK)
        status = open_reports(&r);
    if (status == ASSAY_OK && r.n_todo > 0)
        status = check_all(&r);
    if (status == ASSAY_OK)
        status = write_reports(&r);
    const assay_exit code = status == ASSAY_OK ? exit_code(&r) : assay_cli_complain(status);
    run_clear(&r);
    return code;
}
