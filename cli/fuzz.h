/* The parts of assay fuzz. */
#ifndef ASSAY_CLI_FUZZ_H
#define ASSAY_CLI_FUZZ_H

#include "cli/cases.h"
#include "engine/isolate.h"
#include "fuzz/search/hunt.h"

#include <limits.h>

enum { FUZZ_ABOUT = 1024 };

typedef struct fuzz_campaign {
    const assay_cli_args *args;
    cli_cases cases; /* selections; jobs where cases are named */
    const char *device, *twin;
    bool simulated; /* the device is: known from its name, for this process opens no GPU */
    int64_t rows;   /* different ones that make up each case; 0: all are */
    assay_isolation how;
    fuzz_target *target; /* one for each selection */
    fuzz_source *source; /* likewise */
    fuzz_workers workers;
    fuzz_state state;
    int64_t shard, shards;
    double began;          /* when it would have, had it run through */
    char resume[PATH_MAX]; /* --resume; "": not given. Of several ranks, each has a file */
} fuzz_campaign;

/* Several processes that mpirun or srun started, each with a share: rank i's is share i. */
typedef struct fuzz_ranks {
    int64_t rank, count; /* count 1: this is the only one */
} fuzz_ranks;

/* ---- fuzz.c ---- */

/* Words with seed= are cases themselves. */
bool fuzz_names_cases(const assay_cli_args *args);

/* A line for a share's journal, see fuzz_journal_format(). Two campaigns are the same if their
 * lines are; time and number of processes do not matter. */
void fuzz_describe(const fuzz_campaign *f, int64_t shard, char about[FUZZ_ABOUT]);

/* The workers go on with a share from `state`, until it is done or the campaign's time is over. */
assay_status fuzz_look(fuzz_campaign *f, const fuzz_ranks *ranks, int64_t shard,
                       fuzz_state *state) ASSAY_MUST_CHECK;
bool fuzz_share_is_done(const fuzz_campaign *f, int64_t shard, const fuzz_state *state);

/* Seconds; infinite where there is no limit. */
double fuzz_time_left(const fuzz_campaign *f);

/* ---- fuzz_files.c ---- */

/* Tries all files that are to be written, before hours of work. */
assay_status fuzz_files_try(const fuzz_campaign *f) ASSAY_MUST_CHECK;

/* The state in a journal file; no file: nothing is read. `about` as fuzz_journal_parse() has it. */
assay_status fuzz_state_read(fuzz_campaign *f, const char *path, const char *about,
                             fuzz_state *state) ASSAY_MUST_CHECK;
assay_status fuzz_state_write(const fuzz_campaign *f, int64_t shard, const char *path,
                              const fuzz_state *state) ASSAY_MUST_CHECK;

/* --findings and --corpus. */
assay_status fuzz_findings_write(const fuzz_campaign *f,
                                 const fuzz_findings *findings) ASSAY_MUST_CHECK;

/* ---- fuzz_text.c ---- */

void fuzz_print_finding(const fuzz_campaign *f, const fuzz_finding *finding);
void fuzz_print_summary(const fuzz_campaign *f, const fuzz_state *state, const char *whose);

/* ---- fuzz_ranks.c ---- */

fuzz_ranks fuzz_ranks_find(void);

/* A rank's files, all in one folder that every rank sees. */
typedef enum fuzz_rank_file {
    FUZZ_STATE, /* how far it is, renewed while it runs */
    FUZZ_DONE,  /* how far it came: its last word */
    FUZZ_LOST,  /* it gave up, and is not to be waited for */
    FUZZ_TAKEN, /* rank 0 goes on with its share, and is so far */
    FUZZ_RANK_FILES,
} fuzz_rank_file;

assay_status fuzz_ranks_path(const fuzz_campaign *f, int64_t rank, fuzz_rank_file which,
                             char path[PATH_MAX]) ASSAY_MUST_CHECK;

/* Clears away the files of an earlier campaign. */
assay_status fuzz_ranks_begin(const fuzz_campaign *f, const fuzz_ranks *ranks) ASSAY_MUST_CHECK;

/* This rank's files, of rank 0 those of all ranks, and the folder once it is empty. SIGINT and
 * SIGTERM do so at once: an interruption is of all ranks. Nothing is gathered then; --resume keeps
 * each share. */
void fuzz_ranks_remove(void);

/* Writes a state of share `rank`; nothing where there is but one rank. A rank's own, once rank 0
 * has taken its share over: ASSAY_ERR_FILE, for two would run it. */
assay_status fuzz_ranks_keep(const fuzz_campaign *f, const fuzz_ranks *ranks, int64_t rank,
                             fuzz_rank_file which, const fuzz_state *state) ASSAY_MUST_CHECK;

/* Tells rank 0 not to wait for this one. Rank 0 itself clears everything away: the others find no
 * folder any more, and end. */
void fuzz_ranks_give_up(const fuzz_campaign *f, const fuzz_ranks *ranks);

/* ---- fuzz_gather.c ---- */

/* Rank 0, when it is done itself: waits for the others, goes on with the shares of those that are
 * lost, prints how each ended, and makes their findings its own. *lost: shares that were not
 * finished. */
assay_status fuzz_ranks_gather(fuzz_campaign *f, const fuzz_ranks *ranks,
                               int32_t *lost) ASSAY_MUST_CHECK;

#endif
