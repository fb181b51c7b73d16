/* What the command understands: its verbs and flags, as tables that parsing and help share. */
#ifndef ASSAY_CLI_VERBS_H
#define ASSAY_CLI_VERBS_H

#include "cli/cli.h"

typedef enum cli_flag {
    FLAG_DEVICE,
    FLAG_SEED,
    FLAG_SET,
    FLAG_RANDOM,
    FLAG_ROWS,
    FLAG_BIG,
    FLAG_JSON,
    FLAG_CSV,
    FLAG_JUNIT,
    FLAG_MARKDOWN,
    FLAG_TRACE,
    FLAG_FILE,
    FLAG_IN,
    FLAG_OUT,
    FLAG_NO_RUN,
    FLAG_KERNEL,
    FLAG_CERTIFY,
    FLAG_IN_PROCESS,
    FLAG_TIME_LIMIT,
    FLAG_MEMORY_LIMIT,
    FLAG_ORACLES,
    FLAG_GOLDEN,
    FLAG_SAMPLE,
    FLAG_SHARD,
    FLAG_JOBS,
    FLAG_RESUME,
    FLAG_SURVIVORS,
    FLAG_UNDER,
    FLAG_TIME,
    FLAG_CASES,
    FLAG_FINDINGS,
    FLAG_CORPUS,
    FLAG_NO_GUIDE,
    FLAG_FIRST,
    FLAG_AT_LEAST,
    FLAG_PEERS,
    FLAG_STAGE,
    FLAG_SAMPLES,
    FLAG_REPORT,
    FLAG_COMPARE,
    FLAG_MERGE,
    FLAG_QUIET,
    FLAG_VERBOSE,
    FLAG_NO_COLOR,
    FLAG_HELP,
    FLAG_VERSION,
} cli_flag;
enum { CLI_FLAGS = FLAG_VERSION + 1 };
#define CLI_FLAG_BIT(flag) (UINT64_C(1) << (flag))

typedef struct cli_flag_entry {
    const char *name;  /* "--json" */
    const char *value; /* what its value is called; NULL: it takes none */
    const char *doc;
} cli_flag_entry;

extern const cli_flag_entry cli_flags[CLI_FLAGS];

typedef struct cli_verb {
    const char *name, *synopsis, *summary;
    const char *const *subverbs; /* NULL-terminated; NULL: it has none */
    uint64_t flags;              /* mask of CLI_FLAG_BIT */
    const char *details;         /* further lines of its help */
    assay_exit (*run)(const assay_cli_args *args);
} cli_verb;

enum { CLI_VERBS = 10 };
extern const cli_verb cli_verbs[CLI_VERBS];

/* NULL when there is none of that name. */
const cli_verb *cli_verb_find(const char *name);

/* All verbs when `verb` is NULL. */
void cli_help(FILE *to, const cli_verb *verb);

#endif
