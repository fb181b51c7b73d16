/*
 * assay_evidence: how good the comparison is, in numbers. A program, not a test.
 *
 *     assay_evidence spread|faults [OP...] [--device sim] [--variant V] [--cases 1000] [--first 0]
 *         [--seconds 60] [--jobs 1] [--seed 0] [--budget 4096] [--exact] [--set SET]
 *         [--csv FILE] [--merge FILE]... [--markdown FILE]
 *
 * spread: the ratio error / bound of correct kernels, and false alarms, of which there may be none.
 * faults: what injected errors and faults are caught, beside what other methods catch; --exact: in
 * the exact tier, otherwise on normal, uniform and positive data. --cases and --seconds count for
 * all operators' modes; --cases 0 with --merge adds earlier results up. Exit code 1: an alarm.
 */
#include "tests/evidence/sensitivity.h"
#include "tests/evidence/spread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MERGED = 64, ALARM = 1, TROUBLE = 3 };

typedef struct options {
    bool faults;
    modes modes;
    work work;
    const char *csv, *markdown;
    const char *merged[MOST_MERGED];
    int32_t n_merged;
} options;

static assay_status bad(const char *flag, const char *value) {
    return assay_fail(ASSAY_ERR_USAGE, "%s %s: see the head of tests/evidence/main.c", flag, value);
}

static assay_status parse_number(const char *flag, const char *value, double *number) {
    char *end;
    *number = strtod(value, &end);
    return end == value || *end != '\0' || !(*number >= 0) ? bad(flag, value) : ASSAY_OK;
}

static assay_status parse_set(const char *value, source *from) {
    from->from_set = true;
    for (int s = 0; s < ASSAY_SETS; ++s) {
        from->set = (assay_set)s;
        if (strcmp(value, assay_set_name(from->set)) == 0)
            return ASSAY_OK;
    }
    return bad("--set", value);
}

/* Flags whose value is a number. */
static assay_status parse_numeric(const char *flag, const char *value, work *w) {
    double number = 0;
    const assay_status status = parse_number(flag, value, &number);
    if (strcmp(flag, "--cases") == 0)
        w->cases = (int64_t)number;
    else if (strcmp(flag, "--first") == 0)
        w->first = (int64_t)number;
    else if (strcmp(flag, "--seconds") == 0)
        w->seconds = number;
    else if (strcmp(flag, "--jobs") == 0)
        w->jobs = (int32_t)number;
    else if (strcmp(flag, "--seed") == 0)
        w->from.seed = (uint64_t)number;
    else if (strcmp(flag, "--budget") == 0)
        w->from.budget = number;
    else
        return bad(flag, value);
    return status;
}

static assay_status parse_flag(const char *flag, const char *value, options *o) {
    if (strcmp(flag, "--device") == 0)
        o->work.device = value;
    else if (strcmp(flag, "--variant") == 0)
        o->work.variant = value;
    else if (strcmp(flag, "--csv") == 0)
        o->csv = value;
    else if (strcmp(flag, "--markdown") == 0)
        o->markdown = value;
    else if (strcmp(flag, "--merge") == 0 && o->n_merged < MOST_MERGED)
        o->merged[o->n_merged++] = value;
    else if (strcmp(flag, "--set") == 0)
        return parse_set(value, &o->work.from);
    else
        return parse_numeric(flag, value, &o->work);
    return ASSAY_OK;
}

static assay_status add_operator(const char *name, options *o) {
    const assay_op *op = assay_op_find(name, strlen(name));
    return op ? modes_add(&o->modes, op) : bad("operator", name);
}

static assay_status parse(int argc, char **argv, options *o) {
    assay_status status = ASSAY_OK;
    *o = (options){.work = {.from = {.budget = 4096},
                            .fills = FILLS_PLAIN,
                            .device = "sim",
                            .cases = 1000,
                            .seconds = 60,
                            .jobs = 1}};
    if (argc < 2 || (strcmp(argv[1], "spread") != 0 && strcmp(argv[1], "faults") != 0))
        return bad("expected spread or faults, not", argc < 2 ? "nothing" : argv[1]);
    o->faults = strcmp(argv[1], "faults") == 0;
    for (int i = 2; status == ASSAY_OK && i < argc; ++i) {
        if (strcmp(argv[i], "--exact") == 0)
            o->work.fills = FILLS_EXACT;
        else if (argv[i][0] != '-')
            status = add_operator(argv[i], o);
        else if (i + 1 == argc)
            status = bad(argv[i], "without a value");
        else
            status = parse_flag(argv[i], argv[i + 1], o), ++i;
    }
    const bool all = o->modes.count == 0;
    for (int32_t i = 0; status == ASSAY_OK && all && i < assay_op_count(); ++i)
        status = modes_add(&o->modes, assay_op_at(i));
    if (!o->faults)
        o->work.fills = FILLS_ALL;
    o->work.examine = o->faults ? sensitivity_examine : spread_examine;
    return status;
}

typedef void (*writer)(const ledger *l, FILE *to);

static assay_status write_file(const ledger *l, const char *path, writer write) {
    FILE *to = fopen(path, "w");
    if (!to)
        return assay_fail(ASSAY_ERR_FILE, "%s: %s", path, strerror(errno));
    write(l, to);
    const bool whole = ferror(to) == 0;
    return fclose(to) == 0 && whole ? ASSAY_OK
                                    : assay_fail(ASSAY_ERR_FILE, "%s: %s", path, strerror(errno));
}

static assay_status report(const options *o, const ledger *l) {
    const writer table = o->faults ? sensitivity_table : spread_table;
    assay_status status = ASSAY_OK;
    if (o->csv)
        status = write_file(l, o->csv, ledger_write);
    if (status == ASSAY_OK && o->markdown)
        status = write_file(l, o->markdown, table);
    if (status == ASSAY_OK && !o->markdown)
        table(l, stdout);
    return status;
}

int main(int argc, char **argv) {
    options o;
    ledger l = {0};
    assay_status status = parse(argc, argv, &o);
    if (status == ASSAY_OK)
        status = o.faults ? ledger_init(&l, &o.modes, sensitivity_names(), SENSITIVITY_SERIES)
                          : ledger_init(&l, &o.modes, spread_names, SPREAD_SERIES);
    for (int32_t i = 0; status == ASSAY_OK && i < o.n_merged; ++i)
        status = ledger_read(&l, o.merged[i]);
    if (status == ASSAY_OK) {
        status = workers_run(&o.work, &l);
        const assay_status reported = report(&o, &l); /* of what there is, if a process died */
        status = status == ASSAY_OK ? reported : status;
    }
    int code = status == ASSAY_OK ? EXIT_SUCCESS : TROUBLE;
    if (status != ASSAY_OK)
        fprintf(stderr, "assay_evidence: %s\n", assay_error());
    else if (!o.faults && spread_alarms(&l) > 0)
        code = ALARM;
    ledger_clear(&l);
    return code;
}
