/*
 * Several ranks of one campaign. No MPI call is made, and none is needed: the ranks draw disjoint
 * cases from one seed and meet in files, so that one that dies takes nobody along. mpirun and srun
 * tell each process its rank in its environment.
 *
 * Beside the findings file lies a folder for each campaign, FILE.ranks, with rank-N.state, renewed
 * while the rank runs, rank-N.done when it is through, and rank-N.lost when it gave up.
 */
#include "cli/fuzz.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A rank that lives renews its state more often than that; see keep_seconds in hunt.c. */
static const double patience = 150;

static bool number_of(const char *name, int64_t *value) {
    const char *text = getenv(name);
    char *end;
    if (text == NULL || *text == '\0')
        return false;
    *value = strtoll(text, &end, 10);
    return *end == '\0' && *value >= 0;
}

fuzz_ranks fuzz_ranks_find(void) {
    static const char *const names[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        fuzz_ranks ranks;
        if (number_of(names[i][0], &ranks.rank) && number_of(names[i][1], &ranks.count) &&
            ranks.rank < ranks.count)
            return ranks;
    }
    return (fuzz_ranks){.rank = 0, .count = 1};
}

static assay_status path_of(const fuzz_campaign *f, int64_t rank, const char *what,
                            char path[PATH_MAX]) {
    char folder[PATH_MAX];
    const int length = snprintf(folder, sizeof folder, "%s.ranks", f->args->findings);
    if (length >= PATH_MAX - 32)
        return assay_fail(ASSAY_ERR_USAGE, "--findings: the path is too long");
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return assay_fail(ASSAY_ERR_FILE, "%.300s: cannot be made: %s", folder, strerror(errno));
    snprintf(path, PATH_MAX, "%.*s/rank-%" PRId64 ".%s", length, folder, rank, what);
    return ASSAY_OK;
}

assay_status fuzz_ranks_keep(const fuzz_campaign *f, const fuzz_ranks *ranks,
                             const fuzz_state *state, bool done) {
    char path[PATH_MAX];
    if (ranks->count < 2)
        return ASSAY_OK;
    const assay_status status = path_of(f, ranks->rank, done ? "done" : "state", path);
    return status == ASSAY_OK ? fuzz_state_write(f, path, state) : status;
}

/* Seconds since a file was written; negative: there is none. */
static double age_of(const char *path) {
    struct stat info;
    struct timespec now;
    if (stat(path, &info) != 0)
        return -1;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)(now.tv_sec - info.st_mtim.tv_sec);
}

/* Waits until a rank is done, or has been silent for too long. */
static assay_status await(const fuzz_campaign *f, int64_t rank, bool *done, bool *began) {
    const struct timespec moment = {.tv_nsec = 100000000};
    char finished[PATH_MAX], state[PATH_MAX], lost[PATH_MAX];
    time_t start = time(NULL);
    assay_status status = path_of(f, rank, "done", finished);
    if (status == ASSAY_OK)
        status = path_of(f, rank, "state", state);
    if (status == ASSAY_OK)
        status = path_of(f, rank, "lost", lost);
    *done = *began = false;
    while (status == ASSAY_OK && !assay_cli_interrupted()) {
        const double age = age_of(state);
        *began = age >= 0;
        *done = age_of(finished) >= 0;
        const double silent = *began ? age : difftime(time(NULL), start);
        if (*done || age_of(lost) >= 0 || silent > patience)
            break;
        nanosleep(&moment, NULL);
    }
    return status;
}

static void add_state(fuzz_state *sum, const fuzz_state *term) {
    sum->settled += term->settled;
    sum->passed += term->passed;
    sum->failed += term->failed;
    sum->mistrusted += term->mistrusted;
    sum->skipped += term->skipped;
    sum->declined += term->declined;
    sum->seconds = term->seconds > sum->seconds ? term->seconds : sum->seconds;
}

static assay_status add_rank(fuzz_campaign *f, const fuzz_ranks *ranks, int64_t rank,
                             const char *what, fuzz_state *sum) {
    char path[PATH_MAX], whose[64];
    fuzz_state state = {0};
    assay_status status = path_of(f, rank, what, path);
    if (status == ASSAY_OK)
        status = fuzz_state_read(f, path, NULL, &state);
    if (status != ASSAY_OK)
        return status;
    snprintf(whose, sizeof whose, "rank %" PRId64 " of %" PRId64 ": ", rank, ranks->count);
    fuzz_print_summary(f, &state, whose);
    add_state(sum, &state);
    for (int32_t i = 0; status == ASSAY_OK && i < state.findings.count; ++i)
        status = fuzz_findings_add(&sum->findings, &state.findings.finding[i]);
    fuzz_state_clear(&state);
    return status;
}

static void remove_rank(const fuzz_campaign *f, int64_t rank) {
    char path[PATH_MAX];
    static const char *const whats[] = {"state", "done", "lost"};
    for (size_t i = 0; i < sizeof whats / sizeof *whats; ++i)
        if (path_of(f, rank, whats[i], path) == ASSAY_OK)
            (void)unlink(path);
}

assay_status fuzz_ranks_begin(const fuzz_campaign *f, const fuzz_ranks *ranks) {
    if (ranks->count > 1)
        remove_rank(f, ranks->rank);
    return fuzz_ranks_keep(f, ranks, &f->state, false);
}

void fuzz_ranks_give_up(const fuzz_campaign *f, const fuzz_ranks *ranks) {
    char path[PATH_MAX];
    if (ranks->count < 2 || f->args->findings == NULL ||
        path_of(f, ranks->rank, "lost", path) != ASSAY_OK)
        return;
    FILE *mark = fopen(path, "w");
    if (mark != NULL)
        fclose(mark);
}

assay_status fuzz_ranks_gather(fuzz_campaign *f, const fuzz_ranks *ranks, int32_t *lost) {
    fuzz_state sum = {0};
    assay_status status = ASSAY_OK;
    for (int64_t rank = 0; status == ASSAY_OK && rank < ranks->count; ++rank) {
        bool done, began;
        status = await(f, rank, &done, &began);
        if (status == ASSAY_OK && (done || began))
            status = add_rank(f, ranks, rank, done ? "done" : "state", &sum);
        if (status != ASSAY_OK || done)
            continue;
        fprintf(f->args->out.stream,
                "rank %" PRId64 " of %" PRId64 ": no word from it; its share is not run to its "
                "end: assay fuzz with --shard %" PRId64 "/%" PRId64 "\n",
                rank, ranks->count, rank + 1, ranks->count);
        ++*lost;
    }
    for (int64_t rank = 0; status == ASSAY_OK && rank < ranks->count; ++rank)
        remove_rank(f, rank);
    char folder[PATH_MAX];
    if (status == ASSAY_OK && snprintf(folder, sizeof folder, "%s.ranks", f->args->findings) > 0)
        (void)rmdir(folder);
    fuzz_state_clear(&f->state);
    f->state = sum;
    return status;
}
