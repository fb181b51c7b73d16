/*
 * Several ranks of one campaign. No MPI call is made, and none is needed: the ranks draw disjoint
 * cases from one seed and meet in files, so that a rank that dies ends no other. mpirun and srun
 * tell each process its rank in its environment.
 *
 * Beside the findings file lies a folder for each campaign, FILE.ranks, with rank-N.state, renewed
 * while the rank runs, rank-N.done when it is through, and rank-N.lost when it gave up. A rank that
 * has been silent for too long may be dead or slow: rank 0 then goes on with its share, in
 * rank-N.taken, and a rank that finds that file, or no folder any more, has lost its share and
 * ends.
 */
#include "cli/fuzz.h"
#include "cli/terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static assay_status folder_of(const fuzz_campaign *f, char folder[PATH_MAX]) {
    const int length = snprintf(folder, PATH_MAX, "%s.ranks", f->args->findings);
    return length < PATH_MAX - 32
               ? ASSAY_OK
               : assay_fail(ASSAY_ERR_USAGE, "--findings: the path is too long for ranks");
}

assay_status fuzz_ranks_path(const fuzz_campaign *f, int64_t rank, fuzz_rank_file which,
                             char path[PATH_MAX]) {
    static const char *const ends[FUZZ_RANK_FILES] = {
        [FUZZ_STATE] = "state", [FUZZ_DONE] = "done", [FUZZ_LOST] = "lost", [FUZZ_TAKEN] = "taken"};
    char folder[PATH_MAX];
    const assay_status status = folder_of(f, folder);
    if (status == ASSAY_OK)
        snprintf(path, PATH_MAX, "%.*s/rank-%" PRId64 ".%s", PATH_MAX - 32, folder, rank,
                 ends[which]);
    return status;
}

/* What this rank removes in the end: its own files, and rank 0 those of all. mpirun kills a rank a
 * second after it was told to end, in the middle of a case if need be, so the signal's handler does
 * it. unlink and rmdir are safe there. */
static struct {
    char (*file)[PATH_MAX];
    int64_t files;
    char folder[PATH_MAX];
} to_remove;

void fuzz_ranks_remove(void) {
    for (int64_t i = 0; i < to_remove.files; ++i)
        (void)unlink(to_remove.file[i]);
    (void)rmdir(to_remove.folder); /* of the last rank: it is empty */
}

static assay_status prepare_removal(const fuzz_campaign *f, const fuzz_ranks *ranks) {
    const int64_t first = ranks->rank, end = ranks->rank == 0 ? ranks->count : first + 1;
    assay_status status = folder_of(f, to_remove.folder);
    to_remove.file = calloc((size_t)(end - first) * FUZZ_RANK_FILES, PATH_MAX);
    if (to_remove.file == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for %" PRId64 " ranks", ranks->count);
    for (int64_t rank = first; status == ASSAY_OK && rank < end; ++rank)
        for (int which = 0; status == ASSAY_OK && which < FUZZ_RANK_FILES; ++which)
            status =
                fuzz_ranks_path(f, rank, (fuzz_rank_file)which, to_remove.file[to_remove.files++]);
    if (status == ASSAY_OK)
        terminal_at_interrupt(fuzz_ranks_remove);
    return status;
}

static void remove_earlier(const fuzz_campaign *f, int64_t rank) {
    char path[PATH_MAX];
    for (int which = 0; which < FUZZ_RANK_FILES; ++which)
        if (fuzz_ranks_path(f, rank, (fuzz_rank_file)which, path) == ASSAY_OK)
            (void)unlink(path);
}

assay_status fuzz_ranks_begin(const fuzz_campaign *f, const fuzz_ranks *ranks) {
    char folder[PATH_MAX];
    if (ranks->count < 2)
        return ASSAY_OK;
    assay_status status = folder_of(f, folder);
    if (status == ASSAY_OK)
        status = prepare_removal(f, ranks);
    if (status != ASSAY_OK)
        return status;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return assay_fail(ASSAY_ERR_FILE, "%.300s: cannot be made: %s", folder, strerror(errno));
    remove_earlier(f, ranks->rank);
    return fuzz_ranks_keep(f, ranks, ranks->rank, FUZZ_STATE, &f->state);
}

/* Whether rank 0 has gone on without this rank. */
static assay_status hold_share(const fuzz_campaign *f, const fuzz_ranks *ranks) {
    char folder[PATH_MAX], taken[PATH_MAX];
    assay_status status = folder_of(f, folder);
    if (status == ASSAY_OK)
        status = fuzz_ranks_path(f, ranks->rank, FUZZ_TAKEN, taken);
    if (status == ASSAY_OK && (access(folder, F_OK) != 0 || access(taken, F_OK) == 0))
        return assay_fail(ASSAY_ERR_FILE,
                          "rank %" PRId64 " of %" PRId64
                          ": wrote no state for too long; rank 0 has continued without it",
                          ranks->rank, ranks->count);
    return status;
}

assay_status fuzz_ranks_keep(const fuzz_campaign *f, const fuzz_ranks *ranks, int64_t rank,
                             fuzz_rank_file which, const fuzz_state *state) {
    char path[PATH_MAX];
    if (ranks->count < 2)
        return ASSAY_OK;
    assay_status status =
        assay_cli_interrupted() || rank != ranks->rank ? ASSAY_OK : hold_share(f, ranks);
    if (status == ASSAY_OK && !assay_cli_interrupted())
        status = fuzz_ranks_path(f, rank, which, path);
    if (status == ASSAY_OK && !assay_cli_interrupted())
        status = fuzz_state_write(f, rank, path, state);
    if (!assay_cli_interrupted())
        return status;
    /* Perhaps since the file was begun, whose folder is then gone: that is no error. */
    fuzz_ranks_remove();
    return ASSAY_OK;
}

void fuzz_ranks_give_up(const fuzz_campaign *f, const fuzz_ranks *ranks) {
    char path[PATH_MAX];
    if (ranks->count < 2 || f->args->findings == NULL)
        return;
    if (ranks->rank == 0) {
        fuzz_ranks_remove();
        return;
    }
    if (fuzz_ranks_path(f, ranks->rank, FUZZ_LOST, path) != ASSAY_OK)
        return;
    FILE *mark = fopen(path, "w");
    if (mark != NULL)
        fclose(mark);
}
