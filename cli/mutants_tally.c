/* Counting mutants, and the tables of them. */
#include "cli/mutants.h"
#include "core/columns.h"
#include "core/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void mutant_operator(const mutant *m, char name[SOURCE_PATH]) {
    snprintf(name, SOURCE_PATH, "%s", m->file->device ? "device" : m->file->user[0].op);
}

void mutant_count(mutant_tally *to, const mutant_row *row) {
    const mutant_result *r = &row->result;
    to->no_program += r->outcome == MUTANT_NO_PROGRAM;
    to->same_code += r->outcome == MUTANT_SAME_CODE;
    to->broken += r->outcome == MUTANT_BROKEN;
    if (r->outcome != MUTANT_KILLED && r->outcome != MUTANT_SURVIVED)
        return;
    ++to->programs;
    ++to->by[r->layer];
    if (r->outcome == MUTANT_KILLED)
        ++to->killed;
    else if (row->equivalent)
        ++to->equivalent;
    else
        ++to->survived;
}

double mutant_rate(const mutant_tally *t) {
    return t->programs > 0 ? 100.0 * t->killed / t->programs : 0;
}

/* The probability that of n mutants at most `killed` are found, where each is with probability p.
 */
static double chance_of_so_few(int32_t killed, int32_t n, double p) {
    if (p >= 1 || killed == n)
        return killed == n;
    double log_chance = n * log1p(-p), sum = exp(log_chance); /* of k killed, from k = 0 on */
    for (int32_t k = 0; k < killed; ++k) {
        log_chance += log((n - k) * p / ((k + 1) * (1 - p)));
        sum += exp(log_chance);
    }
    return sum;
}

/* A sample fails when it would be as bad by chance less than once in a hundred. */
static bool are_enough(const mutant_tally *all, double at_least, bool is_sample) {
    static const double RARE = 1e-2;
    if (at_least <= 0)
        return all->survived == 0;
    return is_sample ? chance_of_so_few(all->killed, all->programs, at_least / 100) >= RARE
                     : mutant_rate(all) >= at_least;
}

assay_exit mutants_gate(const mutant_rows *rows, double at_least) {
    mutant_tally all = {0};
    bool list_is_wrong = false, unjudged = false;
    for (int32_t i = 0; i < rows->count; ++i) {
        const mutant_row *row = &rows->row[i];
        mutant_count(&all, row);
        unjudged = unjudged || (row->wanted && row->result.outcome == MUTANT_PENDING);
        list_is_wrong = list_is_wrong || (row->equivalent && row->result.outcome == MUTANT_KILLED);
    }
    if (all.broken > 0 || unjudged)
        return ASSAY_EXIT_ERROR;
    const bool enough = are_enough(&all, at_least, rows->sample > 0);
    return all.programs > 0 && !list_is_wrong && enough ? ASSAY_EXIT_PASSED : ASSAY_EXIT_FAILED;
}

/* Of those that are defects. */
static double net_rate(const mutant_tally *t) {
    const int32_t defects = t->programs - t->equivalent;
    return defects > 0 ? 100.0 * t->killed / defects : 0;
}

/* ---- one tally for each operator, the last for all ---- */

enum { MOST = 64 };

typedef struct tallies {
    mutant_tally item[MOST];
    char name[MOST][SOURCE_PATH];
    int32_t count;
} tallies;

static mutant_tally *tally_of(tallies *t, const char *name) {
    int32_t i = 0;
    while (i < t->count && strcmp(t->name[i], name) != 0)
        ++i;
    if (i == t->count && t->count < MOST - 1) {
        snprintf(t->name[i], SOURCE_PATH, "%s", name);
        t->item[i].name = t->name[i];
        ++t->count;
    }
    return &t->item[i];
}

static void tally_all(tallies *t, const mutant_rows *rows) {
    char name[SOURCE_PATH];
    memset(t, 0, sizeof *t);
    mutant_tally all = {.name = "all"};
    for (int32_t i = 0; i < rows->count; ++i) {
        all.pending += rows->row[i].result.outcome == MUTANT_PENDING;
        if (rows->row[i].result.outcome == MUTANT_PENDING)
            continue;
        mutant_operator(rows->row[i].mutant, name);
        mutant_count(tally_of(t, name), &rows->row[i]);
        mutant_count(&all, &rows->row[i]);
    }
    for (int32_t i = 0; i < rows->count; ++i) { /* of those that have a line */
        mutant_operator(rows->row[i].mutant, name);
        for (int32_t o = 0; o < t->count; ++o)
            if (strcmp(t->item[o].name, name) == 0)
                t->item[o].pending += rows->row[i].result.outcome == MUTANT_PENDING;
    }
    t->item[t->count++] = all;
}

/* ---- text ---- */

static void put_survivor(FILE *to, const mutant_row *row) {
    const mutant *m = row->mutant;
    char *entry = equivalent_entry(m);
    fprintf(to, "%s:%d: %s (%s)\n  - %s\n  + %s\n  %s\n", m->file->path, (int)m->change.line,
            row->result.outcome == MUTANT_BROKEN ? row->result.reason : "survived", m->change.rule,
            m->before, m->after, entry ? entry : "");
    free(entry);
}

static void put_kill(FILE *to, const mutant_row *row) {
    const mutant *m = row->mutant;
    const mutant_result *r = &row->result;
    fprintf(to, "%s:%d: %s (%s), %.2f s\n  - %s\n  + %s\n  %s%s%s %s\n  %s\n", m->file->path,
            (int)m->change.line, mutant_outcome_name(r->outcome), m->change.rule, r->seconds,
            m->before, m->after, mutant_layer_name(r->layer), r->variant[0] ? ", " : "", r->variant,
            r->by, r->reason);
}

static void put_lie(FILE *to, const mutant_row *row) {
    fprintf(
        to,
        "mutants/equivalent.txt is wrong: the check %s kills this mutant; remove its entry: %s\n",
        mutant_layer_name(row->result.layer), row->mutant->after);
}

static void put_rows(FILE *to, const mutant_rows *rows, bool verbose) {
    for (int32_t i = 0; i < rows->count; ++i) {
        const mutant_row *row = &rows->row[i];
        const mutant_outcome outcome = row->result.outcome;
        if (outcome == MUTANT_BROKEN || (outcome == MUTANT_SURVIVED && !row->equivalent))
            put_survivor(to, row);
        else if (verbose && outcome != MUTANT_PENDING)
            put_kill(to, row);
        if (row->equivalent && outcome == MUTANT_KILLED)
            put_lie(to, row);
    }
}

static assay_status put_tallies(FILE *to, const tallies *t) {
    static const char *const head[] = {"mutants of", "programs", "killed", "equivalent",
                                       "survived",   "raw",      "net",    "not checked"};
    columns table = {.align = "lrrrrrrr"};
    for (size_t i = 0; i < sizeof head / sizeof *head; ++i)
        columns_add(&table, "%s", head[i]);
    for (int32_t i = 0; i < t->count; ++i) {
        const mutant_tally *o = &t->item[i];
        columns_add(&table, "%s", o->name);
        columns_add(&table, "%d", (int)o->programs);
        columns_add(&table, "%d", (int)o->killed);
        columns_add(&table, "%d", (int)o->equivalent);
        columns_add(&table, "%d", (int)o->survived);
        columns_add(&table, "%.1f %%", mutant_rate(o));
        columns_add(&table, "%.1f %%", net_rate(o));
        columns_add(&table, "%d", (int)o->pending);
    }
    return columns_print(&table, to, 0);
}

assay_status mutants_text(FILE *to, const mutant_rows *rows, bool verbose) {
    tallies t;
    tally_all(&t, rows);
    put_rows(to, rows, verbose);
    const assay_status status = put_tallies(to, &t);
    const mutant_tally *all = &t.item[t.count - 1];
    fputs("killed by", to);
    for (int layer = LAYER_BOUND; layer < MUTANT_LAYERS; ++layer)
        if (all->by[layer] > 0)
            fprintf(to, " %s %d", mutant_layer_name((mutant_layer)layer), (int)all->by[layer]);
    fprintf(to, "\n%d with the original's code, %d that do not compile, %d broken; %.1f s\n",
            (int)all->same_code, (int)all->no_program, (int)all->broken, rows->seconds);
    if (rows->sample > 0)
        fprintf(to, "drawn by --sample %" PRId64 " --seed %" PRIu64 "\n", rows->sample, rows->seed);
    if (rows->cut_at > 0)
        fprintf(to, "--time left time for the first %d of them\n", (int)rows->cut_at);
    if (rows->left_out[0])
        fprintf(to, "checks left out, because they are not built: %s\n", rows->left_out);
    return status;
}

/* ---- Markdown ---- */

void mutants_markdown(FILE *to, const mutant_rows *rows) {
    tallies t;
    tally_all(&t, rows);
    fputs("| mutants of | programs | killed | equivalent | survived | raw | net | not checked |",
          to);
    for (int layer = LAYER_BOUND; layer < MUTANT_LAYERS; ++layer)
        fprintf(to, " %s |", mutant_layer_name((mutant_layer)layer));
    fputs("\n|---|---|---|---|---|---|---|---|", to);
    for (int layer = LAYER_BOUND; layer < MUTANT_LAYERS; ++layer)
        fputs("---|", to);
    for (int32_t i = 0; i < t.count; ++i) {
        const mutant_tally *o = &t.item[i];
        fprintf(to, "\n| %s | %d | %d | %d | %d | %.1f %% | %.1f %% | %d |", o->name,
                (int)o->programs, (int)o->killed, (int)o->equivalent, (int)o->survived,
                mutant_rate(o), net_rate(o), (int)o->pending);
        for (int layer = LAYER_BOUND; layer < MUTANT_LAYERS; ++layer)
            fprintf(to, " %d |", (int)o->by[layer]);
    }
    putc('\n', to);
}

/* ---- JSON ---- */

static void put_json_tally(FILE *to, const mutant_tally *o) {
    fputs("{\"name\": ", to);
    json_string(to, o->name);
    fprintf(to,
            ", \"programs\": %d, \"killed\": %d, \"equivalent\": %d, \"survived\": %d, "
            "\"broken\": %d, \"same_code\": %d, \"no_program\": %d, \"not_judged\": %d, "
            "\"raw\": %.2f, \"net\": %.2f, \"by\": {",
            (int)o->programs, (int)o->killed, (int)o->equivalent, (int)o->survived, (int)o->broken,
            (int)o->same_code, (int)o->no_program, (int)o->pending, mutant_rate(o), net_rate(o));
    for (int layer = LAYER_BOUND; layer < MUTANT_LAYERS; ++layer)
        fprintf(to, "%s\"%s\": %d", layer > LAYER_BOUND ? ", " : "",
                mutant_layer_name((mutant_layer)layer), (int)o->by[layer]);
    fputs("}}", to);
}

static void put_json_survivor(FILE *to, const mutant_row *row, bool first) {
    const mutant *m = row->mutant;
    fprintf(to, "%s\n  {\"file\": ", first ? "" : ",");
    json_string(to, m->file->path);
    fprintf(to, ", \"line\": %d, \"rule\": ", (int)m->change.line);
    json_string(to, m->change.rule);
    fputs(", \"before\": ", to);
    json_string(to, m->before);
    fputs(", \"after\": ", to);
    json_string(to, m->after);
    fputs(", \"equivalent\": ", to);
    json_string(to, row->equivalent);
    putc('}', to);
}

void mutants_json(FILE *to, const mutant_rows *rows) {
    tallies t;
    tally_all(&t, rows);
    fputs("{\"mutants\": [", to);
    for (int32_t i = 0; i < t.count; ++i) {
        fputs(i > 0 ? ",\n  " : "\n  ", to);
        put_json_tally(to, &t.item[i]);
    }
    fputs("],\n \"survivors\": [", to);
    bool first = true;
    for (int32_t i = 0; i < rows->count; ++i)
        if (rows->row[i].result.outcome == MUTANT_SURVIVED) {
            put_json_survivor(to, &rows->row[i], first);
            first = false;
        }
    fputs("]}\n", to);
}
