#include "mutants/mutant.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static assay_status no_memory(const source *file) {
    return assay_fail(ASSAY_ERR_MEMORY, "out of memory for the mutants of %s", file->path);
}

char *mutant_text(const mutant *m) {
    const char *text = m->file->text;
    char *whole = NULL;
    if (asprintf(&whole, "%.*s%s%s", (int)m->change.at, text, m->change.text,
                 text + m->change.at + m->change.length) < 0)
        return NULL;
    return whole;
}

/* ---- its key ---- */

/* first..last with every run of blanks as one, none at the ends. */
static char *squeeze(const char *first, const char *last) {
    char *line = malloc((size_t)(last - first) + 1), *to = line;
    for (const char *from = first; line && from < last; ++from) {
        const bool blank = isspace((unsigned char)*from);
        if (!blank)
            *to++ = *from;
        else if (to > line && to[-1] != ' ')
            *to++ = ' ';
    }
    if (!line)
        return NULL;
    while (to > line && to[-1] == ' ')
        --to;
    *to = '\0';
    return line;
}

/* The lines from the change's first to its last. */
static assay_status describe(mutant *m) {
    const char *text = m->file->text;
    const char *first = text + m->change.at, *last = first + m->change.length;
    while (first > text && first[-1] != '\n')
        --first;
    last += strcspn(last, "\n");
    m->before = squeeze(first, last);
    char *changed = NULL;
    if (asprintf(&changed, "%.*s%s%.*s", (int)(text + m->change.at - first), first, m->change.text,
                 (int)(last - (text + m->change.at + m->change.length)),
                 text + m->change.at + m->change.length) < 0)
        changed = NULL;
    m->after = changed ? squeeze(changed, changed + strlen(changed)) : NULL;
    free(changed);
    return m->before && m->after ? ASSAY_OK : no_memory(m->file);
}

/* FNV-1a. */
static uint64_t hash(uint64_t h, const char *text) {
    do {
        h = (h ^ (unsigned char)*text) * UINT64_C(1099511628211);
    } while (*text++);
    return h;
}

static uint64_t finish(uint64_t h) {
    h ^= h >> 33;
    h *= UINT64_C(0xff51afd7ed558ccd);
    return h ^ h >> 33;
}

static bool alike(const mutant *a, const mutant *b) {
    return strcmp(a->change.rule, b->change.rule) == 0 && strcmp(a->before, b->before) == 0 &&
           strcmp(a->after, b->after) == 0;
}

static void number(const mutants *all, int32_t first, mutant *m) {
    char digits[16];
    m->occurrence = 1;
    for (int32_t i = first; &all->item[i] < m; ++i)
        m->occurrence += alike(&all->item[i], m);
    snprintf(digits, sizeof digits, "%d", (int)m->occurrence);
    uint64_t h = hash(UINT64_C(14695981039346656037), m->file->path);
    h = hash(hash(hash(h, m->change.rule), m->before), m->after);
    m->key = finish(hash(h, digits));
}

/* ---- making them ---- */

/* Tokens that no rule touches: those of statements that the compiler proves, of hints that the
 * simulated device ignores, and of declarations. */
static void mark_fixed(const lexed *code, bool *fixed) {
    static const char *const heads[] = {"static_assert", "__launch_bounds__", "__attribute__",
                                        "alignas"};
    for (int32_t i = 0; i < code->count; ++i) {
        int32_t last = -1;
        for (size_t h = 0; h < sizeof heads / sizeof *heads; ++h)
            if (lex_is(code, i, heads[h]) && lex_is(code, i + 1, "("))
                last = code->token[i + 1].partner;
        if (lex_is(code, i, "template") && lex_is(code, i + 1, "<"))
            last = phrase_closing_angle(code, i + 1);
        if (lex_is(code, i, "typedef") || lex_is(code, i, "using") ||
            lex_is(code, i, "ASSAY_VARIANT"))
            for (last = i; last < code->count && !lex_is(code, last, ";"); ++last)
                if (code->token[last].partner > last)
                    last = code->token[last].partner;
        for (; i <= last && i < code->count; ++i)
            fixed[i] = true;
    }
}

/* `device`: those of CUDA and numbers too, which speak of kernels. */
static assay_status apply_rules(const lexed *code, bool device, edits *to) {
    bool *fixed = calloc((size_t)code->count + 1, sizeof *fixed);
    if (!fixed)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for the mutants of a source");
    mark_fixed(code, fixed);
    for (int32_t i = 0; i < code->count; ++i) {
        /* The more telling name first: of two equal edits the first stays. */
        for (int32_t r = 0; !fixed[i] && device && r < n_rules_device; ++r) {
            to->rule = rules_device[r].name;
            rules_device[r].apply(code, i, to);
        }
        for (int32_t r = 0; !fixed[i] && r < n_rules_plain; ++r) {
            to->rule = rules_plain[r].name;
            rules_plain[r].apply(code, i, to);
        }
    }
    free(fixed);
    return to->status;
}

static assay_status add(mutants *all, int32_t first, const source *file, edit *change) {
    if (all->count == all->room) {
        const int32_t room = 2 * all->room + 1024;
        mutant *more = realloc(all->item, (size_t)room * sizeof *more);
        if (!more)
            return no_memory(file);
        all->item = more;
        all->room = room;
    }
    mutant *m = &all->item[all->count++];
    *m = (mutant){.file = file, .change = *change};
    change->text = NULL; /* the mutant's now */
    const assay_status status = describe(m);
    if (status == ASSAY_OK)
        number(all, first, m);
    return status;
}

assay_status mutants_add(mutants *all, const source *file) {
    const int32_t first = all->count;
    lexed code;
    edits made = {.code = &code};
    assay_status status = lex(file->text, &code);
    if (status == ASSAY_OK)
        status = apply_rules(&code, !file->oracle, &made);
    for (int32_t i = 0; status == ASSAY_OK && i < made.count; ++i)
        status = add(all, first, file, &made.item[i]);
    edits_clear(&made);
    lex_clear(&code);
    return status;
}

void mutants_clear(mutants *all) {
    for (int32_t i = 0; i < all->count; ++i) {
        free(all->item[i].change.text);
        free(all->item[i].before);
        free(all->item[i].after);
    }
    free(all->item);
    *all = (mutants){0};
}
