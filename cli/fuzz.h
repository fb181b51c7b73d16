/* The parts of assay fuzz. */
#ifndef ASSAY_CLI_FUZZ_H
#define ASSAY_CLI_FUZZ_H

#include "cli/cases.h"
#include "fuzz/search/hunt.h"
#include "tests/engine/isolate.h"

enum { FUZZ_ABOUT = 1024 };

typedef struct fuzz_campaign {
    const assay_cli_args *args;
    cli_cases cases; /* selections; jobs where cases are named */
    const char *device, *twin;
    assay_isolation how;
    fuzz_target *target; /* one for each selection */
    fuzz_source *source; /* likewise */
    fuzz_crew crew;
    fuzz_state state;
    int64_t shard, shards;
    char about[FUZZ_ABOUT]; /* for the journal, see fuzz_journal_format() */
} fuzz_campaign;

/* ---- fuzz_files.c ---- */

/* Tries all files that are to be written, before hours of work. */
assay_status fuzz_files_try(const assay_cli_args *args) ASSAY_MUST_CHECK;

/* The state in a journal file; no file: nothing is read. `about` as fuzz_journal_parse() has it. */
assay_status fuzz_state_read(fuzz_campaign *f, const char *path, const char *about,
                             fuzz_state *state) ASSAY_MUST_CHECK;
assay_status fuzz_state_write(const fuzz_campaign *f, const char *path,
                              const fuzz_state *state) ASSAY_MUST_CHECK;

/* --findings and --corpus. */
assay_status fuzz_findings_write(const fuzz_campaign *f,
                                 const fuzz_findings *findings) ASSAY_MUST_CHECK;

/* ---- fuzz_text.c ---- */

void fuzz_print_finding(const fuzz_campaign *f, const fuzz_finding *finding);
void fuzz_print_summary(const fuzz_campaign *f, const fuzz_state *state, const char *whose);

/* ---- fuzz_ranks.c ---- */

/* Several processes that mpirun or srun started, each with a share. */
typedef struct fuzz_ranks {
    int64_t rank, count; /* count 1: this is the only one */
} fuzz_ranks;

fuzz_ranks fuzz_ranks_find(void);

/* Clears away what an earlier campaign left. */
assay_status fuzz_ranks_begin(const fuzz_campaign *f, const fuzz_ranks *ranks) ASSAY_MUST_CHECK;

/* Where a rank keeps its state while the campaign runs, and that it is done. */
assay_status fuzz_ranks_keep(const fuzz_campaign *f, const fuzz_ranks *ranks,
                             const fuzz_state *state, bool done) ASSAY_MUST_CHECK;

/* Tells rank 0 not to wait for this one. */
void fuzz_ranks_give_up(const fuzz_campaign *f, const fuzz_ranks *ranks);

/* Rank 0, when it is done itself: waits for the others, prints what each did, and makes their
 * findings its own. *lost: shares that nobody has run to their end. */
assay_status fuzz_ranks_gather(fuzz_campaign *f, const fuzz_ranks *ranks,
                               int32_t *lost) ASSAY_MUST_CHECK;

#endif
