#include "engine/certificate.h"
#include "engine/share.h"

#include "assay/op.h"

#include <stdlib.h>
#include <string.h>

/* ---- its cases ---- */

assay_status certificate_add(assay_certificate *c, assay_verdict verdict, double ratio, bool secret,
                             const char *text) {
    if (c->n_cases == c->room) {
        const int64_t room = 2 * c->room + 64;
        certificate_case *cases = realloc(c->cases, (size_t)room * sizeof *cases);
        if (!cases)
            return assay_fail(ASSAY_ERR_MEMORY, "no memory for a certificate");
        c->cases = cases;
        c->room = room;
    }
    char *copy = strdup(text);
    if (!copy)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for a certificate");
    c->cases[c->n_cases++] = (certificate_case){verdict, ratio, secret, copy};
    return ASSAY_OK;
}

void certificate_clear(assay_certificate *c) {
    for (int64_t i = 0; i < c->n_cases; ++i)
        free(c->cases[i].text);
    free(c->cases);
    *c = (assay_certificate){0};
}

/* ---- writing ---- */

static void print(FILE *to, const assay_certificate *c) {
    const certificate_subject *s = &c->subject;
    fprintf(to, CERTIFICATE_FIRST_LINE);
    fprintf(to, "variant %s/%s\n", s->op, s->variant);
    fprintf(to, "device %s\n", s->device);
    fprintf(to, "device_text %s\n", s->device_text);
    fprintf(to, "kernel %s\n", s->kernel);
    fprintf(to, "guest %s\n", s->guest);
    fprintf(to, "judge %s\n", s->judge);
    if (s->operator[0] != '\0')
        fprintf(to, "operator %s %s\n", s->operator, s->operator_file);
    if (*scope_words(s->scope) != '\0')
        fprintf(to, "scope %s\n", scope_words(s->scope));
    fprintf(to, "version %s\n", c->version);
    fprintf(to, "date %s\n", c->date);
    fprintf(to, "set %s\n", c->set);
    fprintf(to, "sandbox %s\n", c->sandbox);
    for (int64_t i = 0; i < c->n_cases; ++i) {
        const certificate_case *one = &c->cases[i];
        fprintf(to, "case %s ", assay_verdict_name(one->verdict));
        if (one->verdict == ASSAY_PASS)
            fprintf(to, "%.6g", one->ratio);
        else
            fputc('-', to);
        fprintf(to, " %s %s\n", one->secret ? "secret" : "set", one->text);
    }
    share_print(to, c, CERTIFICATE_SHARE);
}

assay_status certificate_format(const assay_certificate *c, const unsigned char key[HASH_KEY],
                                char **text, size_t *size) {
    char seal[HASH_TEXT];
    *text = NULL;
    FILE *to = open_memstream(text, size);
    if (!to)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for a certificate");
    print(to, c);
    bool good = fflush(to) == 0 && !ferror(to);
    if (good) {
        hash_seal(key, *text, *size, seal);
        fprintf(to, "seal %s\n", seal);
        good = !ferror(to);
    }
    if (fclose(to) == 0 && good)
        return ASSAY_OK;
    free(*text);
    *text = NULL;
    return assay_fail(ASSAY_ERR_MEMORY, "no memory for a certificate");
}

/* ---- its life ---- */

/* Walks the set's cases of today beside those of the certificate. */
typedef struct walk {
    const assay_certificate *c;
    int64_t at;
    const char *strange; /* the first case of one that the other has not in this place */
    char text[ASSAY_CASE_TEXT];
} walk;

static void skip_secrets(walk *w) {
    while (w->at < w->c->n_cases && w->c->cases[w->at].secret)
        ++w->at;
}

/* Whether a case before this one is the same but for its layout, and all are packed. */
static bool is_repeated(const walk *w, const char *text) {
    for (int64_t i = 0; w->c->subject.scope.packed && i < w->at; ++i)
        if (!w->c->cases[i].secret && strcmp(w->c->cases[i].text, text) == 0)
            return true;
    return false;
}

static assay_status compare_case(const assay_case *today, void *context) {
    walk *w = context;
    char text[ASSAY_CASE_TEXT];
    assay_case within = *today;
    scope_apply(w->c->subject.scope, &within);
    assay_case_format(&within, text);
    if (w->strange || is_repeated(w, text))
        return ASSAY_OK;
    skip_secrets(w);
    if (w->at < w->c->n_cases && strcmp(w->c->cases[w->at].text, text) == 0) {
        ++w->at;
        return ASSAY_OK;
    }
    memcpy(w->text, text, sizeof text);
    w->strange = w->text;
    return ASSAY_OK;
}

static bool find_set(const char *name, assay_set *set) {
    for (int s = 0; s < ASSAY_SETS; ++s) {
        *set = (assay_set)s;
        if (strcmp(assay_set_name(*set), name) == 0)
            return true;
    }
    return false;
}

static assay_status same_cases(const assay_certificate *c, bool *same, char why[CERTIFICATE_WHY]) {
    const assay_op *op = assay_op_find(c->subject.op, strlen(c->subject.op));
    assay_set set;
    walk w = {.c = c};
    *same = false;
    if (!op || !find_set(c->set, &set)) {
        snprintf(why, CERTIFICATE_WHY, "there is no set %s of %s", c->set, c->subject.op);
        return ASSAY_OK;
    }
    const assay_status status = assay_op_visit_set(op, set, compare_case, &w);
    if (status != ASSAY_OK)
        return status;
    skip_secrets(&w);
    if (!w.strange && w.at < c->n_cases)
        w.strange = c->cases[w.at].text;
    *same = w.strange == NULL;
    if (!*same)
        snprintf(why, CERTIFICATE_WHY, "the cases of the set %s are others: %.200s", c->set,
                 w.strange);
    return ASSAY_OK;
}

assay_status certificate_holds(const assay_certificate *c, const certificate_subject *now,
                               bool *holds, char why[CERTIFICATE_WHY]) {
    const certificate_subject *then = &c->subject;
    const struct {
        const char *what, *then, *now;
    } parts[] = {
        {"it is for another operator", then->op, now->op},
        {"it is for another variant", then->variant, now->variant},
        {"it is for another device", then->device, now->device},
        {"it proves other stages or layouts", scope_words(then->scope), scope_words(now->scope)},
        {"the device or its driver has changed", then->device_text, now->device_text},
        {"the kernel's code has changed", then->kernel, now->kernel},
        {"the program that ran it has changed", then->guest, now->guest},
        {"the program that judged it has changed", then->judge, now->judge},
        {
            "the operator's own file has changed",
            then->operator,
            now->operator},
        };
    *holds = false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i)
        if (strcmp(parts[i].then, parts[i].now) != 0) {
            snprintf(why, CERTIFICATE_WHY, "%s", parts[i].what);
            return ASSAY_OK;
        }
    if (!share_suffices(c, why))
        return ASSAY_OK;
    return same_cases(c, holds, why);
}

bool certificate_sandboxed(const assay_certificate *c, char why[CERTIFICATE_WHY]) {
    char missing[SANDBOX_TEXT];
    const sandbox_walls left = sandbox_required() & ~sandbox_of_text(c->sandbox);
    snprintf(why, CERTIFICATE_WHY, "it was judged without these walls of a sandbox: %s",
             sandbox_text(left, missing));
    return left == 0;
}
