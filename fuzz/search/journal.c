#include "fuzz/search/journal.h"

#include "engine/hash.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char title[] = "assay fuzz state 1";

/* The seal protects against damage, not against forgery. */
static const unsigned char no_key[HASH_KEY];

/* ---- writing ---- */

/* Words that may be empty are written with a dot in front. */
static void write_finding(FILE *to, const fuzz_finding *f) {
    fprintf(to, "finding %" PRId32 " %s .%s .%s .%s %" PRId64 " %.3f %d %d\n%s\n%s\n%s\n",
            f->target, fuzz_kind_name(f->failure.kind), f->failure.variant, f->failure.relation,
            f->failure.tensor, f->first, f->seconds, f->again, f->smallest, f->found, f->shrunk,
            f->failure.reason);
}

static void write_all(FILE *to, const fuzz_state *s, const char *about) {
    fprintf(to, "%s\n%s\n", title, about);
    fprintf(to, "settled %" PRId64 " %.3f\n", s->settled, s->seconds);
    fprintf(to, "counts %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", s->passed,
            s->mistrusted, s->skipped, s->failed, s->declined);
    fprintf(to, "before %" PRId32 " %" PRId32 "\n", s->before[0], s->before[1]);
    for (int32_t i = 0; i < s->population.n_marks; ++i)
        fprintf(to, "mark %" PRIu32 " %" PRId32 "\n", s->population.mark[i].key,
                s->population.mark[i].octave);
    for (int32_t e = 0; e < FRAME_EDGES; ++e)
        if (s->population.edges[e] != 0)
            fprintf(to, "edge %" PRId32 "\n", e);
    for (int32_t i = 0; i < s->population.count; ++i) {
        char text[ASSAY_CASE_TEXT];
        fprintf(to, "case %" PRId32 " %s\n", s->population.member[i].target,
                assay_case_format(&s->population.member[i].c, text));
    }
    for (int32_t i = 0; i < s->findings.count; ++i)
        write_finding(to, &s->findings.finding[i]);
}

assay_status fuzz_journal_format(const fuzz_state *state, const char *about, char **text,
                                 size_t *size) {
    char seal[HASH_TEXT];
    *text = NULL;
    FILE *to = open_memstream(text, size);
    if (to) {
        write_all(to, state, about);
        bool broken = fflush(to) != 0;
        if (!broken) {
            hash_seal(no_key, *text, *size, seal);
            fprintf(to, "seal %s\n", seal);
        }
        broken = broken || ferror(to) != 0;
        if (fclose(to) == 0 && !broken)
            return ASSAY_OK;
    }
    free(*text);
    *text = NULL;
    return assay_fail(ASSAY_ERR_MEMORY, "no memory for the campaign's state");
}

/* ---- reading ---- */

typedef struct reader {
    fuzz_state *state;
    const char *path;
    char *next; /* what is left */
    int32_t n_targets;
} reader;

static assay_status damaged(const char *path) {
    return assay_fail(ASSAY_ERR_FILE,
                      "%.300s: is not a complete state of a campaign; delete it to start "
                      "again",
                      path);
}

/* The next line, or NULL. */
static char *line_of(reader *r) {
    return r->next ? strsep(&r->next, "\n") : NULL;
}

/* Cuts the seal off, and says whether it is the text's. */
static bool sealed(char *text, size_t size) {
    enum { TAIL = 5 + HASH_TEXT }; /* "seal " and a line's end in the place of the terminator */
    char seal[HASH_TEXT];
    if (size < TAIL || text[size - 1] != '\n' || memchr(text, '\0', size))
        return false;
    char *tail = text + size - TAIL;
    if (memcmp(tail, "seal ", 5) != 0)
        return false;
    hash_seal(no_key, text, size - TAIL, seal);
    const bool same = memcmp(seal, tail + 5, HASH_TEXT - 1) == 0;
    *tail = '\0';
    return same;
}

static bool copy_line(reader *r, char *to, size_t room) {
    const char *line = line_of(r);
    if (!line || strlen(line) >= room)
        return false;
    memcpy(to, line, strlen(line) + 1);
    return true;
}

static bool is_case(const char *text) {
    assay_case c;
    return assay_case_parse(text, &c) == ASSAY_OK;
}

static assay_status read_finding(reader *r, const char *line) {
    fuzz_finding f = {0};
    char kind[16], variant[FUZZ_VARIANT + 1], relation[FUZZ_RELATION + 1];
    char tensor[ASSAY_TENSOR_NAME + 2];
    int again, smallest;
    const int n = sscanf(line, "%" SCNd32 " %15s %32s %48s %49s %" SCNd64 " %lf %d %d", &f.target,
                         kind, variant, relation, tensor, &f.first, &f.seconds, &again, &smallest);
    if (n != 9 || f.target < 0 || f.target >= r->n_targets ||
        !fuzz_kind_find(kind, &f.failure.kind) || !copy_line(r, f.found, sizeof f.found) ||
        !copy_line(r, f.shrunk, sizeof f.shrunk) || !is_case(f.found) || !is_case(f.shrunk) ||
        !copy_line(r, f.failure.reason, sizeof f.failure.reason))
        return damaged(r->path);
    snprintf(f.failure.variant, sizeof f.failure.variant, "%s", variant + 1);
    snprintf(f.failure.relation, sizeof f.failure.relation, "%s", relation + 1);
    snprintf(f.failure.tensor, sizeof f.failure.tensor, "%s", tensor + 1);
    f.again = again != 0;
    f.smallest = smallest != 0;
    return fuzz_findings_add(&r->state->findings, &f);
}

static assay_status read_case(reader *r, const char *line) {
    char *text;
    assay_case c;
    const long target = strtol(line, &text, 10);
    if (*text != ' ' || target < 0 || target >= r->n_targets || strlen(text) > ASSAY_CASE_TEXT ||
        assay_case_parse(text + 1, &c) != ASSAY_OK)
        return damaged(r->path);
    return fuzz_population_add(&r->state->population, (int32_t)target, &c);
}

static assay_status read_line(reader *r, const char *line) {
    fuzz_state *s = r->state;
    fuzz_mark mark;
    int32_t edge;
    bool best;
    if (sscanf(line, "settled %" SCNd64 " %lf", &s->settled, &s->seconds) == 2 ||
        sscanf(line, "counts %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, &s->passed,
               &s->mistrusted, &s->skipped, &s->failed, &s->declined) == 5 ||
        sscanf(line, "before %" SCNd32 " %" SCNd32, &s->before[0], &s->before[1]) == 2)
        return ASSAY_OK;
    if (sscanf(line, "mark %" SCNu32 " %" SCNd32, &mark.key, &mark.octave) == 2)
        return fuzz_population_mark(&s->population, &mark, &best);
    if (sscanf(line, "edge %" SCNd32, &edge) == 1 && edge >= 0 && edge < FRAME_EDGES) {
        s->population.edges[edge] = 1;
        return ASSAY_OK;
    }
    if (strncmp(line, "case ", 5) == 0)
        return read_case(r, line + 5);
    if (strncmp(line, "finding ", 8) == 0)
        return read_finding(r, line + 8);
    return damaged(r->path);
}

static bool in_range(const fuzz_state *s) {
    return s->settled >= 0 && s->seconds >= 0 && s->before[1] >= 0 &&
           s->before[1] <= s->before[0] && s->before[0] <= s->population.count;
}

assay_status fuzz_journal_parse(fuzz_state *state, const char *about, int32_t n_targets,
                                const char *path, char *text, size_t size) {
    reader r = {.state = state, .path = path, .next = text, .n_targets = n_targets};
    *state = (fuzz_state){0};
    if (!sealed(text, size))
        return damaged(path);
    const char *line = line_of(&r);
    if (!line || strcmp(line, title) != 0)
        return damaged(path);
    line = line_of(&r);
    if (!line)
        return damaged(path);
    if (about && strcmp(line, about) != 0)
        return assay_fail(ASSAY_ERR_USAGE, "%.200s: belongs to another campaign: %.200s", path,
                          line);
    assay_status status = ASSAY_OK;
    while (status == ASSAY_OK && (line = line_of(&r)))
        if (*line != '\0')
            status = read_line(&r, line);
    if (status == ASSAY_OK && !in_range(state))
        status = damaged(path);
    if (status != ASSAY_OK)
        fuzz_state_clear(state);
    return status;
}
