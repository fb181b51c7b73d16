/*
 * The end of a campaign of several ranks, as rank 0 has it. A share whose rank is lost is gone on
 * with from the state that the rank left. Case i is a function of the seed and i, so that any
 * rank may judge it. If the rank was only slow, there are two states of its share: one contains the
 * other, and that one alone counts.
 */
#include "cli/fuzz.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A rank that lives renews its state more often than that; see keep_seconds in hunt.c. */
static const double patience = 150;

/* ---- waiting ---- */

typedef enum rank_fate { RANK_DONE, RANK_GAVE_UP, RANK_SILENT } rank_fate;

/* Seconds since a file was written; negative: there is none. */
static double age_of(const char *path) {
    struct stat info;
    struct timespec today;
    if (stat(path, &info) != 0)
        return -1;
    clock_gettime(CLOCK_REALTIME, &today);
    return (double)(today.tv_sec - info.st_mtim.tv_sec);
}

/* Waits until a rank is done, or has been silent for too long. */
static assay_status await(const fuzz_campaign *f, int64_t rank, rank_fate *fate) {
    const struct timespec moment = {.tv_nsec = 100000000};
    const time_t start = time(NULL);
    char done[PATH_MAX], state[PATH_MAX], lost[PATH_MAX];
    assay_status status = fuzz_ranks_path(f, rank, FUZZ_DONE, done);
    if (status == ASSAY_OK)
        status = fuzz_ranks_path(f, rank, FUZZ_STATE, state);
    if (status == ASSAY_OK)
        status = fuzz_ranks_path(f, rank, FUZZ_LOST, lost);
    *fate = RANK_SILENT;
    while (status == ASSAY_OK) {
        const double age = age_of(state);
        const double silent = age >= 0 ? age : difftime(time(NULL), start);
        *fate = age_of(done) >= 0 ? RANK_DONE : age_of(lost) >= 0 ? RANK_GAVE_UP : RANK_SILENT;
        if (*fate != RANK_SILENT || silent > patience || assay_cli_interrupted())
            break;
        nanosleep(&moment, NULL);
    }
    return status;
}

/* ---- the sum ---- */

static void add_counts(fuzz_state *sum, const fuzz_state *term) {
    sum->settled += term->settled;
    sum->passed += term->passed;
    sum->failed += term->failed;
    sum->mistrusted += term->mistrusted;
    sum->skipped += term->skipped;
    sum->declined += term->declined;
    sum->seconds = term->seconds > sum->seconds ? term->seconds : sum->seconds;
}

static assay_status add_state(const fuzz_campaign *f, const fuzz_ranks *ranks, int64_t rank,
                              const fuzz_state *state, fuzz_state *sum) {
    char whose[64];
    assay_status status = ASSAY_OK;
    snprintf(whose, sizeof whose, "rank %" PRId64 " of %" PRId64 ": ", rank, ranks->count);
    if (!f->args->quiet)
        fuzz_print_summary(f, state, whose);
    add_counts(sum, state);
    for (int32_t i = 0; status == ASSAY_OK && i < state->findings.count; ++i)
        status = fuzz_findings_add(&sum->findings, &state->findings.finding[i]);
    return status;
}

static assay_status read_file(fuzz_campaign *f, int64_t rank, fuzz_rank_file which,
                              const char *about, fuzz_state *state) {
    char path[PATH_MAX];
    const assay_status status = fuzz_ranks_path(f, rank, which, path);
    return status == ASSAY_OK ? fuzz_state_read(f, path, about, state) : status;
}

static assay_status add_done(fuzz_campaign *f, const fuzz_ranks *ranks, int64_t rank,
                             fuzz_state *sum) {
    fuzz_state state = {0};
    assay_status status = read_file(f, rank, FUZZ_DONE, NULL, &state);
    if (status == ASSAY_OK)
        status = add_state(f, ranks, rank, &state, sum);
    fuzz_state_clear(&state);
    return status;
}

/* ---- shares of ranks that are lost ---- */

/* What the rank left, in *state. *ours: it is of this campaign, or there is nothing, and rank 0 can
 * go on from there. A rank that found another device than rank 0 drew other cases. */
static assay_status read_left(fuzz_campaign *f, int64_t rank, fuzz_state *state, bool *ours) {
    char about[FUZZ_ABOUT];
    fuzz_describe(f, rank, about);
    const assay_status status = read_file(f, rank, FUZZ_STATE, about, state);
    *ours = status != ASSAY_ERR_USAGE;
    if (status == ASSAY_ERR_USAGE)
        return read_file(f, rank, FUZZ_STATE, NULL, state);
    return status == ASSAY_ERR_FILE ? ASSAY_OK : status; /* damaged: from its first case */
}

static void tell_taken(const fuzz_campaign *f, const fuzz_ranks *ranks, int64_t rank,
                       rank_fate fate, const fuzz_state *state) {
    fprintf(f->args->out.stream,
            "rank %" PRId64 " of %" PRId64 ": %s; rank 0 goes on with its share behind %" PRId64
            " case%s\n",
            rank, ranks->count, fate == RANK_GAVE_UP ? "gave up" : "no word from it",
            state->settled, state->settled == 1 ? "" : "s");
    fflush(f->args->out.stream);
}

static void tell_lost(const fuzz_campaign *f, const fuzz_ranks *ranks, int64_t rank,
                      rank_fate fate) {
    fprintf(f->args->out.stream,
            "rank %" PRId64 " of %" PRId64 ": %s; its share is not run to its end: assay fuzz with "
            "--shard %" PRId64 "/%" PRId64 "\n",
            rank, ranks->count, fate == RANK_GAVE_UP ? "gave up" : "no word from it", rank + 1,
            ranks->count);
}

/* Once one has failed, --first asks for no further case. */
static bool may_go_on(const fuzz_campaign *f, const fuzz_state *sum) {
    return !fuzz_names_cases(f->args) && fuzz_time_left(f) > 0 && !assay_cli_interrupted() &&
           !(f->args->first && sum->findings.count > 0);
}

/* A rank that came back meanwhile may have come further. */
static assay_status hear_again(fuzz_campaign *f, int64_t rank, fuzz_state *state) {
    char about[FUZZ_ABOUT];
    fuzz_state its = {0};
    fuzz_describe(f, rank, about);
    const assay_status status = read_file(f, rank, FUZZ_DONE, about, &its);
    if (status == ASSAY_ERR_MEMORY)
        return status;
    if (its.settled > state->settled) {
        fuzz_state_clear(state);
        *state = its;
        return ASSAY_OK;
    }
    fuzz_state_clear(&its);
    return ASSAY_OK;
}

static assay_status go_on_with(fuzz_campaign *f, const fuzz_ranks *ranks, int64_t rank,
                               fuzz_state *state) {
    assay_status status = fuzz_ranks_keep(f, ranks, rank, FUZZ_TAKEN, state);
    if (status == ASSAY_OK)
        status = fuzz_workers_start(&f->workers);
    if (status == ASSAY_OK)
        status = fuzz_look(f, ranks, rank, state);
    fuzz_workers_end(&f->workers);
    return status == ASSAY_OK ? hear_again(f, rank, state) : status;
}

static assay_status take_over(fuzz_campaign *f, const fuzz_ranks *ranks, int64_t rank,
                              rank_fate fate, fuzz_state *sum, int32_t *lost) {
    fuzz_state state = {0};
    bool ours;
    assay_status status = read_left(f, rank, &state, &ours);
    if (status == ASSAY_OK && ours && may_go_on(f, sum)) {
        tell_taken(f, ranks, rank, fate, &state);
        status = go_on_with(f, ranks, rank, &state);
    }
    if (status == ASSAY_OK)
        status = add_state(f, ranks, rank, &state, sum);
    if (status == ASSAY_OK && !(ours && fuzz_share_is_done(f, rank, &state))) {
        tell_lost(f, ranks, rank, fate);
        ++*lost;
    }
    fuzz_state_clear(&state);
    return status;
}

/* ---- all of them ---- */

static assay_status add_done_ranks(fuzz_campaign *f, const fuzz_ranks *ranks, rank_fate *fate,
                                   fuzz_state *sum) {
    assay_status status = ASSAY_OK;
    for (int64_t rank = 0; status == ASSAY_OK && rank < ranks->count; ++rank) {
        status = await(f, rank, &fate[rank]);
        if (status == ASSAY_OK && fate[rank] == RANK_DONE)
            status = add_done(f, ranks, rank, sum);
    }
    return status;
}

/* The cause of a rank's end may end this one, too: all that is found by then is written before. */
static assay_status add_lost_ranks(fuzz_campaign *f, const fuzz_ranks *ranks, const rank_fate *fate,
                                   fuzz_state *sum, int32_t *lost) {
    assay_status status = ASSAY_OK;
    bool written = sum->findings.count == 0;
    for (int64_t rank = 0; status == ASSAY_OK && rank < ranks->count; ++rank) {
        if (fate[rank] == RANK_DONE)
            continue;
        if (!written)
            status = fuzz_findings_write(f, &sum->findings);
        written = true;
        if (status == ASSAY_OK)
            status = take_over(f, ranks, rank, fate[rank], sum, lost);
    }
    return status;
}

assay_status fuzz_ranks_gather(fuzz_campaign *f, const fuzz_ranks *ranks, int32_t *lost) {
    fuzz_state sum = {0};
    rank_fate *fate = calloc((size_t)ranks->count, sizeof *fate);
    if (fate == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for %" PRId64 " ranks", ranks->count);
    assay_status status = add_done_ranks(f, ranks, fate, &sum);
    if (status == ASSAY_OK)
        status = add_lost_ranks(f, ranks, fate, &sum, lost);
    if (status == ASSAY_OK)
        fuzz_ranks_remove();
    free(fate);
    fuzz_state_clear(&f->state);
    f->state = sum;
    return status;
}
