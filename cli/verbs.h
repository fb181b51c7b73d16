/* The verbs and flags of the command, as tables that parsing and help share. */
#ifndef ASSAY_CLI_VERBS_H
#define ASSAY_CLI_VERBS_H

#include "cli/cli.h"

/* A bit for each verb, for the masks of flags. */
enum {
    CLI_LIST = 1 << 0,
    CLI_CHECK = 1 << 1,
    CLI_CERTIFICATE = 1 << 2,
    CLI_GOLDEN = 1 << 3,
    CLI_RUN = 1 << 4,
    CLI_MUTANTS = 1 << 5,
    CLI_FUZZ = 1 << 6,
    CLI_BENCH = 1 << 7,
    CLI_PROFILE = 1 << 8,
    CLI_EXEC = 1 << 9,
    CLI_COMPLETION = 1 << 10,
    CLI_HELP = 1 << 11,
    CLI_JUDGE = 1 << 12,
    CLI_NEW = 1 << 13,
    CLI_BUILD = 1 << 14,
    CLI_ALL = (1 << 15) - 1,
};

/* How the text behind a flag is read, and the type of the member that it goes to. */
typedef enum cli_kind {
    CLI_SWITCH, /* no text; bool, set to true */
    CLI_TEXT,   /* const char * */
    CLI_FILE,   /* const char *; a path, for completion */
    CLI_FOLDER, /* likewise */
    CLI_CHOICE, /* const char *; one of the names in `value`, which are separated by | */
    CLI_COUNT,  /* int64_t in 1..most */
    CLI_AMOUNT, /* double, above 0 and at most `most` */
    CLI_SEED,   /* uint64_t */
    CLI_SHARE,  /* cli_share: I and N of I/N, with 1 <= I <= N */
} cli_kind;

typedef struct cli_flag_entry {
    const char *name;  /* "--json" */
    const char *value; /* the name of its value; NULL: it takes no value */
    const char *doc;
    cli_kind kind;
    size_t member;  /* offset in assay_cli_args */
    double most;    /* CLI_COUNT, CLI_AMOUNT */
    unsigned verbs; /* mask of CLI_LIST ...: those that take it */
} cli_flag_entry;

enum { CLI_MOST_FLAGS = 128 };
extern const cli_flag_entry cli_flags[]; /* ends with an entry without a name */

typedef struct cli_verb {
    unsigned bit; /* CLI_LIST ... */
    const char *name, *synopsis, *summary;
    const char *const *subverbs; /* NULL-terminated; NULL: it has no subverbs */
    const char *details;         /* further lines of its help */
    const char *exits;           /* NULL: as all have them */
    assay_exit (*run)(const assay_cli_args *args);
} cli_verb;

enum { CLI_VERBS = 15 };
extern const cli_verb cli_verbs[CLI_VERBS];

/* NULL when there is no verb of that name. */
const cli_verb *cli_verb_find(const char *name);

/* A key that every case may have. */
typedef struct cli_key {
    const char *name, *value, *doc;
} cli_key;
extern const cli_key cli_keys[]; /* ends with an entry without a name */

/* Prints the meaning of a common key; false when there is no key of that name. */
bool cli_key_help(FILE *to, const char *name);

/* The meaning of the exit codes. */
extern const char cli_exits[];

/* The help text and the manual page of a verb; of the whole command when `verb` is NULL. */
void cli_help(FILE *to, const cli_verb *verb);
void cli_man(FILE *to, const cli_verb *verb);

#endif
