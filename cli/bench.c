/* assay bench: times proven variants, beside peers. docs/bench.md. */
#include "bench/compare.h"
#include "bench/report/report.h"
#include "bench/report/single.h"
#include "bench/results_json.h"
#include "bench/watch.h"
#include "cli/bench_gate.h"
#include "cli/bench_jobs.h"
#include "cli/environment.h"
#include "core/clock.h"
#include "core/place.h"
#include "core/sink.h"
#include "engine/isolate.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct bench {
    const assay_cli_args *args;
    const assay_device *device, *isolated; /* where the gate checks variants */
    bench_jobs jobs;
    int64_t done, left_out;
    const char *peers;
    bench_gate_state gate;
    bench_watch watch;
    bench_results results;
    bench_session session;
    double start;
} bench;

/* ---- one case ---- */

static assay_status run_job(bench *b, const bench_job *j) {
    assay_case c;
    bench_arms arms;
    bench_stage stage[EXPERIMENT_STAGES];
    assay_status status = assay_case_parse(j->text, &c);
    if (status == ASSAY_OK)
        status = bench_arms_init(&arms, b->isolated, c.op->name, j->selection->variant,
                                 j->selection->n_variants, b->peers);
    if (status != ASSAY_OK)
        return status;
    if (j->without_v1)
        bench_arms_drop(&arms, "v1");
    for (int32_t i = 0; b->args->kernel && i < arms.count; ++i)
        if (arms.arm[i].program == BENCH_PROGRAM_OURS) {
            arms.arm[i].kernel = assay_isolated_kernel_loaded(b->isolated);
            arms.arm[i].binding = b->args->binding;
            if (b->args->python)
                arms.arm[i].program = BENCH_PROGRAM_FUNCTION;
        }
    const bench_plan p = {.experiment = j->experiment ? j->experiment->name : "",
                          .c = &c,
                          .stage = stage,
                          .n_stages = bench_job_stages(j, b->args, stage),
                          .arms = &arms};
    status = bench_session_run(&b->session, &p);
    bench_arms_clear(&arms);
    return status;
}

/* A case that does not fit into the host, or whose data cannot be had, costs itself. */
static assay_status forgive(bench *b, const bench_job *j, assay_status status) {
    if (status != ASSAY_ERR_MEMORY && status != ASSAY_ERR_UNSUPPORTED)
        return status;
    fprintf(stderr, "assay: %s: left out: %s\n", j->text, assay_error());
    ++b->left_out;
    return ASSAY_OK;
}

/* ---- files ---- */

typedef assay_status (*writer)(FILE *to, const bench_results *results);

static assay_status write_file(const char *path, writer write, const bench_results *results) {
    cli_sink sink = {0};
    if (!path)
        return ASSAY_OK;
    assay_status status = sink_open(&sink, path);
    if (status != ASSAY_OK)
        return status;
    status = write(sink.stream, results);
    if (status == ASSAY_OK)
        status = sink_commit(&sink);
    sink_discard(&sink);
    return status;
}

static assay_status run_all(bench *b) {
    assay_status status = ASSAY_OK;
    const double before = b->results.seconds;
    b->start = now();
    /* Finished jobs stay, whatever comes. */
    for (b->done = 0; status == ASSAY_OK && b->done < b->jobs.count && !assay_cli_interrupted();
         ++b->done) {
        status = forgive(b, &b->jobs.job[b->done], run_job(b, &b->jobs.job[b->done]));
        b->results.seconds = before + now() - b->start;
        bench_watch_tell(&b->watch, &b->results.environment);
        if (status == ASSAY_OK)
            status = write_file(b->args->resume, bench_results_write, &b->results);
    }
    return status;
}

static bool show_progress(void *context, const char *line) {
    const bench *b = context;
    const double elapsed = now() - b->start;
    if (line[0] == '\0')
        return !assay_cli_interrupted();
    if (b->args->verbose)
        fprintf(stderr, "%8.1f s  %s\n", elapsed, line);
    else if (b->done > 0)
        assay_cli_progress("%lld/%lld, %.0f s, about %.0f s left: %s", (long long)b->done + 1,
                           (long long)b->jobs.count, elapsed,
                           elapsed / (double)b->done * (double)(b->jobs.count - b->done), line);
    else
        assay_cli_progress("%lld/%lld: %s", (long long)b->done + 1, (long long)b->jobs.count, line);
    return !assay_cli_interrupted();
}

/* ---- before and after ---- */

/* Of the tree that this program was built from, or as $ASSAY_COMMIT says; "" when it is not under
 * git. */
static void find_commit(char commit[BENCH_NAME]) {
    const char *told = getenv("ASSAY_COMMIT");
    char source[PATH_MAX], path[PATH_MAX + 600], line[512] = "ref: HEAD";
    snprintf(commit, BENCH_NAME, "%s", told ? told : "");
    if (told || assay_place("source", source) != ASSAY_OK)
        return;
    for (int hops = 0; hops < 3 && strncmp(line, "ref: ", 5) == 0; ++hops) {
        snprintf(path, sizeof path, "%s/.git/%s", source, line + 5);
        FILE *file = fopen(path, "r");
        if (!file)
            return;
        if (!fgets(line, sizeof line, file))
            line[0] = '\0';
        fclose(file);
        line[strcspn(line, "\n")] = '\0';
    }
    snprintf(commit, BENCH_NAME, "%.12s", line);
}

static void describe(bench *b) {
    cli_environment e;
    bench_environment *to = &b->results.environment;
    environment_init(&e, b->device);
    snprintf(to->version, sizeof to->version, "%s", ASSAY_VERSION);
    snprintf(to->date, sizeof to->date, "%s", e.date);
    snprintf(to->device, sizeof to->device, "%.250s", e.device_text);
    snprintf(to->cpu, sizeof to->cpu, "%s", e.cpu);
    snprintf(to->os, sizeof to->os, "%.250s", e.os);
    snprintf(to->blas, sizeof to->blas, "%.250s", e.blas);
    snprintf(to->compiler, sizeof to->compiler, "%s, %s", e.compiler, e.build_type);
    find_commit(to->commit);
    snprintf(to->command, sizeof to->command, "%s", b->args->line);
    to->simulated = b->device->simulated;
}

/* Rows of different devices are not mixed. */
static assay_status is_alike(const char *path, const char *device, const char *here) {
    if (strcmp(device, here) == 0)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_USAGE,
                      "%s was measured on another device: %.120s, not %.120s: name another file",
                      path, device, here);
}

/* Rows of an earlier run. */
static assay_status resume(bench *b) {
    const char *path = b->args->resume;
    if (!path || access(path, F_OK) != 0)
        return ASSAY_OK;
    const bench_environment here = b->results.environment;
    const assay_status status = bench_results_read(path, &b->results);
    return status == ASSAY_OK ? is_alike(path, b->results.environment.device, here.device) : status;
}

/* Those of another run, which may have been elsewhere at the same time. */
static assay_status merge(bench *b) {
    const char *path = b->args->merge;
    bench_results other = {0};
    if (!path)
        return ASSAY_OK;
    assay_status status = bench_results_read(path, &other);
    if (status == ASSAY_OK)
        status = is_alike(path, other.environment.device, b->results.environment.device);
    if (status == ASSAY_OK)
        status = bench_results_merge(&b->results, &other);
    bench_results_clear(&other);
    return status;
}

/* Without a case to time: what an earlier run found, shown again, on any machine. */
static bool only_shows(const assay_cli_args *args) {
    return args->resume && args->n_targets == 0 && !args->seeds;
}

static assay_status prepare(bench *b) {
    assay_status status;
    if (only_shows(b->args)) {
        status = bench_results_read(b->args->resume, &b->results);
        return status == ASSAY_OK ? merge(b) : status;
    }
    status = assay_device_open(b->args->device != NULL ? b->args->device : "cuda", &b->device);
    if (status == ASSAY_ERR_UNSUPPORTED && b->args->device == NULL)
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "no GPU to time on: run this on a machine with one, or give --device sim "
                          "to time the simulated device, whose times say nothing about a GPU");
    if (status == ASSAY_OK)
        status = assay_cli_isolate(b->args, b->device, &b->isolated);
    if (status == ASSAY_OK)
        status = bench_jobs_init(&b->jobs, b->args);
    if (status != ASSAY_OK)
        return status;
    b->peers = b->args->peers ? b->args->peers : b->device->simulated ? "none" : "all";
    describe(b);
    status = resume(b);
    if (status == ASSAY_OK)
        status = merge(b);
    if (status != ASSAY_OK)
        return status;
    b->gate = (bench_gate_state){.args = b->args, .isolated = b->isolated};
    b->session = (bench_session){.device = b->device,
                                 .gate = bench_gate_open,
                                 .gate_context = &b->gate,
                                 .progress = show_progress,
                                 .progress_context = b,
                                 .results = &b->results,
                                 .samples = (int32_t)b->args->samples};
    status = bench_session_init(&b->session);
    if (status == ASSAY_OK && !b->device->simulated)
        status = bench_session_calibrate(&b->session);
    return status;
}

/* Seeds' own columns lie beside the report. */
static assay_status write_seeds(const bench *b) {
    char path[4096];
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; b->args->report && status == ASSAY_OK && i < bench_n_experiments; ++i) {
        const bench_experiment *e = &bench_experiments[i];
        snprintf(path, sizeof path, "%s/%s-seed.csv", b->args->report, e->name);
        if (e->csv && bench_experiment_has_rows(e, &b->results))
            status = write_file(path, e->csv, &b->results);
    }
    return status;
}

static void print_seeds(const bench *b) {
    for (int32_t i = 0; i < bench_n_experiments; ++i) {
        const bench_experiment *e = &bench_experiments[i];
        if (!bench_experiment_has_rows(e, &b->results))
            continue;
        fprintf(b->args->out.stream, "\n%s\n\n", e->title);
        e->table(b->args->out.stream, &b->results);
    }
}

static assay_status report(bench *b) {
    assay_status status = write_file(b->args->json, bench_results_write, &b->results);
    if (status == ASSAY_OK)
        status = write_file(b->args->csv, bench_report_csv, &b->results);
    if (status == ASSAY_OK)
        status = write_file(b->args->markdown, bench_report_markdown, &b->results);
    if (status == ASSAY_OK && b->args->report)
        status = bench_report_write(&b->results, b->args->report);
    if (status == ASSAY_OK)
        status = write_seeds(b);
    if (status == ASSAY_OK) {
        bench_report_text(b->args->out.stream, &b->results, b->args->out.color);
        if (!b->args->quiet)
            print_seeds(b);
    }
    return status;
}

/* Against an earlier run: whether nothing of ours became slower. */
static assay_status compare(const bench *b, bool *regressed) {
    bench_results old = {0};
    bench_comparison comparison = {0};
    *regressed = false;
    if (!b->args->compare)
        return ASSAY_OK;
    assay_status status = bench_results_read(b->args->compare, &old);
    if (status == ASSAY_OK)
        status = bench_compare_results(&old, &b->results, BENCH_MARGIN, &comparison);
    if (status == ASSAY_OK) {
        bench_comparison_text(b->args->out.stream, &comparison, b->args->out.color);
        *regressed = comparison.regressions > 0;
    }
    bench_comparison_clear(&comparison);
    bench_results_clear(&old);
    return status;
}

/* The exit code, and a line that says why it is not 0. Of our own rows: a peer that is not there,
 * or that is wrong, is no failure of this command. */
static assay_exit conclude(const bench *b, bool regressed) {
    long long count[BENCH_STATUSES] = {0};
    for (int64_t i = 0; i < b->results.count; ++i)
        if (b->results.row[i].ours)
            ++count[b->results.row[i].status];
    if (assay_cli_interrupted())
        return ASSAY_EXIT_INTERRUPTED;
    if (only_shows(b->args))
        return regressed ? ASSAY_EXIT_FAILED : ASSAY_EXIT_PASSED;
    if (count[BENCH_REFUSED] > 0) {
        fprintf(stderr,
                "assay: %lld rows of assay's variants refused, because they are "
                "not proven\n",
                count[BENCH_REFUSED]);
        return ASSAY_EXIT_REFUSED;
    }
    if (count[BENCH_ERROR] > 0) {
        fprintf(stderr,
                "assay: %lld rows of assay's variants failed to run; each says "
                "why\n",
                count[BENCH_ERROR]);
        return ASSAY_EXIT_ERROR;
    }
    if (regressed)
        return ASSAY_EXIT_FAILED;
    if (count[BENCH_OK] > 0)
        return ASSAY_EXIT_PASSED;
    if (b->left_out < b->jobs.count) /* or a line for each says why */
        fputs("assay: no variant of assay's could be timed here\n", stderr);
    return ASSAY_EXIT_NOTHING;
}

assay_exit assay_cli_bench(const assay_cli_args *args) {
    bench b = {.args = args};
    bool regressed = false;
    assay_status status = prepare(&b);
    if (status == ASSAY_OK && !only_shows(args)) {
        bench_watch_start(&b.watch, &b.session.timing);
        status = run_all(&b);
        bench_watch_stop(&b.watch);
    }
    assay_cli_progress("%s", "");
    if (status == ASSAY_OK)
        status = report(&b);
    if (status == ASSAY_OK)
        status = compare(&b, &regressed);
    const assay_exit code =
        status == ASSAY_OK ? conclude(&b, regressed) : assay_cli_complain(status);
    if (b.session.device)
        bench_session_clear(&b.session);
    bench_gate_clear(&b.gate);
    bench_results_clear(&b.results);
    assay_isolate_end(b.isolated);
    bench_jobs_clear(&b.jobs);
    return code;
}
