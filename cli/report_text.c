/* For people at a terminal of 100 columns. The norm and agreement lines are those of the published
 * check that this one succeeds. */
#include "cli/report.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    WIDTH = 100,
    MANY = 8, /* more tensors than this make tables instead of a line for each number */
};

/* ---- a report's tensors ---- */

static bool has_numbers(const assay_row *row) {
    return row->tensor[0] != '\0';
}

/* The part with the most tensors, whose order all others share. */
static cli_part fullest_part(const assay_report *report) {
    cli_part fullest = {0};
    for (cli_part part = {0}; report_next_part(report, &part);)
        if (has_numbers(part.rows) && part.n_rows > fullest.n_rows)
            fullest = part;
    return fullest;
}

static int widest_tensor(const cli_part *part) {
    int widest = 0;
    for (int32_t r = 0; r < part->n_rows; ++r) {
        const int width = (int)strlen(part->rows[r].tensor);
        widest = width > widest ? width : widest;
    }
    return widest;
}

/* Text that breaks at blanks; the lines after the first are indented by `indent`, and the first is
 * taken to stand there already. */
static void put_wrapped(FILE *to, int indent, const char *text) {
    int column = indent;
    while (*text != '\0') {
        const int word = (int)strcspn(text, " ");
        if (column > indent && column + 1 + word > WIDTH) {
            fprintf(to, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            putc(' ', to);
            ++column;
        }
        for (int i = 0; i < word; ++i) /* a kernel's words must not steer the terminal */
            putc(iscntrl((unsigned char)text[i]) ? '?' : text[i], to);
        column += word;
        text += word + (text[word] == ' ');
    }
    putc('\n', to);
}

/* ---- norms ---- */

static void put_norm(FILE *to, int width, const char *who, const char *tensor, double norm) {
    const int used = fprintf(to, "    ||%s_%s||", who, tensor);
    fprintf(to, "%*s = %.17g\n", used < width ? width - used : 0, "", unsigned_nan(norm));
}

static void put_norm_list(FILE *to, const assay_report *report, const cli_part *tensors) {
    const int width = (int)strlen("    ||oracle_||") + widest_tensor(tensors);
    for (int32_t t = 0; t < tensors->n_rows; ++t) {
        const char *tensor = tensors->rows[t].tensor;
        put_norm(to, width, "oracle", tensor, tensors->rows[t].cmp.norm_want);
        for (cli_part part = {0}; report_next_part(report, &part);) {
            const assay_row *row = report_find_row(&part, tensor);
            if (row != NULL)
                put_norm(to, width, row->variant, tensor, row->cmp.norm_got);
        }
    }
}

static void put_norm_table(FILE *to, const assay_report *report, const cli_part *tensors) {
    const int name = widest_tensor(tensors);
    fprintf(to, "    %-*s %19s", name, "", "oracle");
    for (cli_part part = {0}; report_next_part(report, &part);)
        fprintf(to, " %19s", part.rows->variant);
    putc('\n', to);
    for (int32_t t = 0; t < tensors->n_rows; ++t) {
        const assay_row *first = &tensors->rows[t];
        fprintf(to, "    %-*s %19.13g", name, first->tensor, unsigned_nan(first->cmp.norm_want));
        for (cli_part part = {0}; report_next_part(report, &part);) {
            const assay_row *row = report_find_row(&part, first->tensor);
            if (row != NULL)
                fprintf(to, " %19.13g", unsigned_nan(row->cmp.norm_got));
            else
                fprintf(to, " %19s", "-");
        }
        putc('\n', to);
    }
}

/* ---- agreement ---- */

static void put_pair(FILE *to, const assay_pair *pair) {
    fprintf(to, "    %s_%s == %s_%s: %s (%.1e)\n", pair->a, pair->tensor, pair->b, pair->tensor,
            pair->agree ? "True" : "False", unsigned_nan(pair->distance));
}

/* One line for all tensors of two variants, then each on which they disagree. */
static void put_pair_summary(FILE *to, const assay_report *report, const assay_pair *first) {
    int32_t count = 0, disagree = 0;
    const assay_pair *farthest = first;
    for (int32_t i = 0; i < report->n_pairs; ++i) {
        const assay_pair *pair = &report->pairs[i];
        if (strcmp(pair->a, first->a) != 0 || strcmp(pair->b, first->b) != 0)
            continue;
        ++count;
        disagree += !pair->agree;
        if (pair->distance > farthest->distance)
            farthest = pair;
    }
    fprintf(to, "    %s == %s: %s for %d of %d tensors (at most %.1e, %s)\n", first->a, first->b,
            disagree == 0 ? "True" : "False", disagree == 0 ? count : disagree, count,
            farthest->distance, farthest->tensor);
    for (int32_t i = 0; i < report->n_pairs; ++i) {
        const assay_pair *pair = &report->pairs[i];
        if (!pair->agree && strcmp(pair->a, first->a) == 0 && strcmp(pair->b, first->b) == 0)
            put_pair(to, pair);
    }
}

static void put_agreement(FILE *to, const assay_report *report, bool many) {
    if (report->n_pairs == 0)
        return;
    fputs("  agreement\n", to);
    for (int32_t i = 0; i < report->n_pairs; ++i) {
        const assay_pair *pair = &report->pairs[i];
        if (!many)
            put_pair(to, pair);
        else if (strcmp(pair->tensor, report->pairs[0].tensor) == 0)
            put_pair_summary(to, report, pair);
    }
}

/* ---- ratios ---- */

static void put_ratio_row(FILE *to, const assay_row *row, int variant, int name) {
    const assay_comparison *cmp = &row->cmp;
    char at[128];
    fprintf(to, "    %-*s %-*s  %8.3g  %-16s %14.7g %14.7g  %9.2e  %8.1e\n", variant, row->variant,
            name, row->tensor, cmp->ratio, assay_index_text(row->rank, row->shape, cmp->worst, at),
            unsigned_nan(cmp->got), unsigned_nan(cmp->want), cmp->bound, cmp->rel_l2);
}

/* How many rows of the part have a larger ratio than `row`, those before it first among equals. */
static int32_t rank_of(const cli_part *part, const assay_row *row) {
    int32_t rank = 0;
    for (const assay_row *other = part->rows; other < part->rows + part->n_rows; ++other) {
        const double a = isnan(other->cmp.ratio) ? INFINITY : other->cmp.ratio;
        const double b = isnan(row->cmp.ratio) ? INFINITY : row->cmp.ratio;
        rank += a > b || (a == b && other < row);
    }
    return rank;
}

/* All rows, or the worst few. */
static void put_ratios(FILE *to, const assay_report *report, const cli_part *tensors) {
    const int name = widest_tensor(tensors);
    int variant = 3;
    for (cli_part part = {0}; report_next_part(report, &part);)
        variant =
            (int)strlen(part.rows->variant) > variant ? (int)strlen(part.rows->variant) : variant;
    fprintf(to, "  error / bound%*s   ratio  %-16s %14s %14s  %9s  %8s\n", variant + name - 5, "",
            "worst at", "got", "want", "bound", "rel. L2");
    for (cli_part part = {0}; report_next_part(report, &part);) {
        for (int32_t r = 0; r < part.n_rows; ++r)
            if (has_numbers(part.rows) && rank_of(&part, &part.rows[r]) < MANY)
                put_ratio_row(to, &part.rows[r], variant, name);
        if (part.n_rows > MANY)
            fprintf(to, "    %-*s %d more, none above these\n", variant, part.rows->variant,
                    part.n_rows - MANY);
    }
}

/* Each line once, with the names of the first few tensors that share it. */
static void put_whys(FILE *to, const cli_part *tensors) {
    for (int32_t t = 0; t < tensors->n_rows; ++t) {
        const assay_row *row = &tensors->rows[t];
        int32_t sharing = 0, before = 0;
        for (int32_t o = 0; o < tensors->n_rows; ++o) {
            const bool same = strcmp(tensors->rows[o].why, row->why) == 0;
            sharing += same;
            before += same && o < t;
        }
        if (before > 0 || row->why[0] == '\0')
            continue;
        char line[ASSAY_WHY + 128];
        char others[64] = "";
        if (sharing > 1)
            snprintf(others, sizeof others, " and %d more", sharing - 1);
        snprintf(line, sizeof line, "%s%s: %s", row->tensor, others, row->why);
        fputs("  why: ", to);
        put_wrapped(to, 7, line);
    }
}

/* ---- what is not a pass ---- */

static void put_wrong_number(FILE *to, const assay_row *row) {
    const assay_comparison *cmp = &row->cmp;
    char at[128];
    fprintf(to,
            "\n    at    %s: %" PRId64 " of %" PRId64 " elements are wrong, this one most\n"
            "    got   %.17g\n    want  %.17g\n    bound %.3g, error %.3g, ratio %.3g\n    why:  ",
            assay_index_text(row->rank, row->shape, cmp->worst, at), cmp->wrong, cmp->count,
            unsigned_nan(cmp->got), unsigned_nan(cmp->want), cmp->bound, fabs(cmp->got - cmp->want),
            cmp->ratio);
    put_wrapped(to, 10, row->why);
}

static void put_problem(const assay_cli_out *out, const assay_row *row) {
    fputs("  ", out->stream);
    assay_cli_print_verdict(out, row->verdict, 0);
    fprintf(out->stream, "  %s%s%s", row->variant, row->tensor[0] != '\0' ? " " : "", row->tensor);
    if (row->verdict == ASSAY_FAIL && row->cmp.wrong > 0) {
        put_wrong_number(out->stream, row);
    } else {
        fputs("\n    ", out->stream);
        put_wrapped(out->stream, 4, row->reason);
    }
}

/* The first few problems of a variant, then the one command that shows them all again; it is never
 * wrapped, for it is there to be copied. */
static void put_problems(const assay_cli_out *out, const cli_part *part) {
    int32_t problems = 0;
    for (int32_t r = 0; r < part->n_rows; ++r) {
        if (part->rows[r].verdict == ASSAY_PASS)
            continue;
        if (problems < MANY)
            put_problem(out, &part->rows[r]);
        ++problems;
    }
    if (problems > MANY)
        fprintf(out->stream, "  and %d more tensors that are not a pass; --json lists all\n",
                problems - MANY);
    if (problems > 0)
        fprintf(out->stream, "    reproduce: %s\n", part->worst->repro);
}

/* ---- the whole ---- */

/* What the verdicts before it leave out. */
static void put_scope(const assay_cli_out *out, const char *before, const char *after) {
    const char *phrase = scope_phrase(out->scope);
    if (*phrase != '\0')
        fprintf(out->stream, "%s%s%s", before, phrase, after);
}

void report_text_full(const assay_cli_out *out, const assay_report *report) {
    FILE *to = out->stream;
    const cli_part tensors = fullest_part(report);
    const bool many = tensors.n_rows > MANY;
    fprintf(to, "%s    on %s\n", report->case_text, report->device);
    if (tensors.n_rows > 0) {
        fputs("  norms\n", to);
        if (many)
            put_norm_table(to, report, &tensors);
        else
            put_norm_list(to, report, &tensors);
        report_text_series(to, report);
        put_agreement(to, report, many);
        put_ratios(to, report, &tensors);
        put_whys(to, &tensors);
    }
    for (cli_part part = {0}; report_next_part(report, &part);)
        put_problems(out, &part);
    for (cli_part part = {0}; report_next_part(report, &part);) {
        fprintf(to, "  %s%s ", part.rows == report->rows ? "" : " ", part.rows->variant);
        assay_cli_print_verdict(out, part.verdict, 0);
    }
    put_scope(out, "   (", ")");
    fputs("\n\n", to);
}

static void put_brief(const assay_cli_out *out, const assay_report *report, const cli_part *part) {
    const char *words = report->case_text + strlen(report->c.op->name);
    assay_cli_print_verdict(out, part->verdict, 11);
    if (part->worst->cmp.count > 0)
        fprintf(out->stream, "%8.3g %-8s", part->worst->cmp.ratio, part->worst->tensor);
    else
        fprintf(out->stream, "%8s %-8s", "-", "");
    fprintf(out->stream, " %s/%s%s", report->c.op->name, part->rows->variant, words);
    put_scope(out, "   (", ")");
    putc('\n', out->stream);
}

void report_text_problems(const assay_cli_out *out, const assay_report *report) {
    for (cli_part part = {0}; report_next_part(report, &part);)
        if (part.verdict != ASSAY_PASS && part.verdict != ASSAY_SKIP) {
            put_brief(out, report, &part);
            put_problems(out, &part);
        }
}

void report_text_edge(const assay_cli_out *out, const assay_report *report, bool quiet) {
    for (cli_part part = {0}; report_next_part(report, &part);) {
        const bool expected = part.verdict == ASSAY_MISTRUSTED || part.verdict == ASSAY_SKIP;
        if (expected && quiet)
            continue;
        put_brief(out, report, &part);
        if (part.verdict == ASSAY_PASS)
            fputs("    passed, although a case of the set edge can prove no number: the operator's "
                  "list of cases is wrong\n",
                  out->stream);
        else if (part.verdict != ASSAY_MISTRUSTED)
            put_problems(out, &part);
    }
}

/* Whether an earlier case was left out for the same reason, which stands there. */
static bool is_told(const cli_results *results, const cli_part *part) {
    for (int64_t i = 0; part->verdict == ASSAY_SKIP && i + 1 < results->count; ++i)
        for (cli_part other = {0}; report_next_part(&results->report[i], &other);)
            if (other.verdict == ASSAY_SKIP &&
                strcmp(other.rows->variant, part->rows->variant) == 0 &&
                strcmp(other.worst->reason, part->worst->reason) == 0)
                return true;
    return false;
}

void report_text_brief(const assay_cli_out *out, const cli_results *results) {
    const assay_report *report = &results->report[results->count - 1];
    for (cli_part part = {0}; report_next_part(report, &part);) {
        put_brief(out, report, &part);
        if (!is_told(results, &part))
            put_problems(out, &part);
    }
}

/* Distinct operators' variants in the results; the reports of an operator lie together. */
static int64_t count_variants(const cli_results *results) {
    enum { MOST = 64 };
    const char *seen[MOST];
    int64_t total = 0;
    int n = 0;
    for (int64_t i = 0; i < results->count; ++i) {
        const assay_report *report = &results->report[i];
        if (i > 0 && report->c.op != report[-1].c.op)
            n = 0;
        for (cli_part part = {0}; report_next_part(report, &part);) {
            int known = 0;
            while (known < n && strcmp(seen[known], part.rows->variant) != 0)
                ++known;
            if (known < n || n == MOST)
                continue;
            seen[n++] = part.rows->variant;
            ++total;
        }
    }
    return total;
}

static const char *plural(int64_t count) {
    return count == 1 ? "" : "s";
}

void report_text_summary(const assay_cli_out *out, const cli_results *results) {
    const cli_tally tally = results_tally(results);
    const int64_t variants = count_variants(results), errors = tally.verdicts[ASSAY_ERROR];
    fprintf(out->stream,
            "%" PRId64 " passed, %" PRId64 " failed, %" PRId64 " mistrusted%s, %" PRId64
            " error%s, %" PRId64 " skipped; %" PRId64 " case%s, %" PRId64 " variant%s, %.2f s",
            tally.verdicts[ASSAY_PASS], tally.verdicts[ASSAY_FAIL],
            tally.verdicts[ASSAY_MISTRUSTED], results->edge ? " as expected" : "", errors,
            plural(errors), tally.verdicts[ASSAY_SKIP], results->count, plural(results->count),
            variants, plural(variants), results->seconds);
    put_scope(out, "; ", "");
    putc('\n', out->stream);
}
