#include "cli/certify.h"
#include "cli/state.h"
#include "engine/share.h"

#include <string.h>
#include <unistd.h>

typedef struct certifier {
    const assay_cli_args *args;
    const cli_cases *cases;
    const cli_results *results;
    const certificate_subject *subject;
    char directory[PATH_MAX];
    unsigned char key[HASH_KEY];
    FILE *to;
    bool refused;
} certifier;

static bool wanted(const cli_selection *s, const assay_variant *v) {
    if (strcmp(v->op, s->op->name) != 0)
        return false;
    for (int32_t i = 0; i < s->n_variants; ++i)
        if (strcmp(s->variant[i], v->name) == 0)
            return true;
    return s->n_variants == 0;
}

assay_status certify_begin(const cli_cases *cases, const assay_device *isolated,
                           certificate_subject *subject) {
    for (int32_t s = 0; s < cases->n_selections; ++s)
        for (int32_t v = 0; v < isolated->n_variants; ++v)
            if (wanted(&cases->selection[s], isolated->variants[v]))
                return certificate_subject_init(subject, isolated, isolated->variants[v]);
    return assay_fail(ASSAY_ERR_UNSUPPORTED, "no variant to certify on %s", isolated->name);
}

/* ---- one variant ---- */

static bool find_part(const assay_report *report, const char *variant, cli_part *part) {
    *part = (cli_part){0};
    while (report_next_part(report, part))
        if (strcmp(part->rows[0].variant, variant) == 0)
            return true;
    return false;
}

/* Adds one case; `spoiled` becomes true, with the reason printed, when there can be no certificate.
 */
static assay_status add_case(const certifier *by, int64_t i, assay_certificate *c, bool *spoiled) {
    const assay_report *report = &by->results->report[i];
    const bool secret = by->cases->job[i].secret;
    cli_part part;
    if (!find_part(report, c->subject.variant, &part)) {
        *spoiled = true; /* the engine could not begin the case: the row has no variant */
        return ASSAY_OK;
    }
    /* A drawn case must not fail, and is no case of the set's list, to which a certificate is held.
     */
    if (by->cases->job[i].drawn) {
        *spoiled = part.verdict == ASSAY_FAIL || part.verdict == ASSAY_ERROR;
        return ASSAY_OK;
    }
    if (part.verdict == ASSAY_PASS)
        return certificate_add(c, ASSAY_PASS, part.worst->cmp.ratio, secret, report->case_text);
    if (part.verdict == ASSAY_SKIP)
        return certificate_add(c, ASSAY_SKIP, 0, secret, report->case_text);
    /* Data of some secret cases, and of some sizes of one operand, prove nothing. */
    const bool may_prove_nothing = secret || report->c.exponent != 0;
    if (!may_prove_nothing || part.verdict == ASSAY_FAIL || part.verdict == ASSAY_ERROR)
        *spoiled = true;
    return ASSAY_OK;
}

static assay_status collect(const certifier *by, const cli_selection *s, assay_certificate *c,
                            const char **spoiler) {
    assay_status status = ASSAY_OK;
    *spoiler = NULL;
    for (int64_t i = 0; status == ASSAY_OK && !*spoiler && i < by->results->count; ++i) {
        bool spoiled = false;
        if (by->cases->job[i].selection != s)
            continue;
        status = add_case(by, i, c, &spoiled);
        if (spoiled)
            *spoiler = by->results->report[i].case_text;
    }
    return status;
}

static void announce(const certifier *by, const assay_certificate *c) {
    int64_t passed = 0, secret = 0;
    double worst = 0;
    for (int64_t i = 0; i < c->n_cases; ++i) {
        passed += c->cases[i].verdict == ASSAY_PASS && !c->cases[i].secret;
        secret += c->cases[i].verdict == ASSAY_PASS && c->cases[i].secret;
        worst = c->cases[i].ratio > worst ? c->cases[i].ratio : worst;
    }
    fprintf(by->to,
            "certified %s/%s on %s%s%s: %lld cases of %s and %lld secret ones, worst ratio %.3g\n",
            c->subject.op, c->subject.variant, c->subject.device,
            *scope_words(c->subject.scope) != '\0' ? ", " : "", scope_phrase(c->subject.scope),
            (long long)passed, c->set, (long long)secret, worst);
    share_print(by->to, c, "  ran ");
}

static assay_status refuse(certifier *by, const char *path, const assay_certificate *c,
                           const char *why) {
    (void)unlink(path); /* what it had proves nothing any more */
    for (int64_t i = 0; i < c->n_cases; ++i)
        by->refused = by->refused || c->cases[i].verdict == ASSAY_PASS;
    fprintf(by->to, "no certificate for %s/%s on %s: %s\n", c->subject.op, c->subject.variant,
            c->subject.device, why);
    return ASSAY_OK;
}

static assay_status certify(certifier *by, const cli_selection *s, const assay_variant *v) {
    char path[PATH_MAX];
    char why[CERTIFICATE_WHY];
    const char *spoiler = NULL;
    assay_certificate c = {.subject = *by->subject};
    c.subject.scope = by->args->scope;
    snprintf(c.subject.op, sizeof c.subject.op, "%s", v->op);
    snprintf(c.subject.variant, sizeof c.subject.variant, "%s", v->name);
    snprintf(c.version, sizeof c.version, "%s", ASSAY_VERSION);
    snprintf(c.date, sizeof c.date, "%s", by->results->environment->date);
    snprintf(c.set, sizeof c.set, "%s", assay_set_name(by->args->set));
    snprintf(c.sandbox, sizeof c.sandbox, "%s", by->results->environment->sandbox);
    assay_status status = state_certificate_path(by->directory, &c.subject, path);
    if (status == ASSAY_OK)
        status = collect(by, s, &c, &spoiler);
    if (spoiler)
        snprintf(why, sizeof why, "it did not pass %.280s", spoiler);
    if (status == ASSAY_OK && (spoiler || !share_suffices(&c, why))) {
        status = refuse(by, path, &c, why);
    } else if (status == ASSAY_OK) {
        status = state_write(path, by->key, &c);
        if (status == ASSAY_OK)
            announce(by, &c);
    }
    certificate_clear(&c);
    return status;
}

/* ---- all of them ---- */

/* The code that passed must be the code that is there when it has. */
static assay_status check_unchanged(const certificate_subject *before, const cli_cases *cases,
                                    const assay_device *isolated) {
    certificate_subject after;
    const assay_status status = certify_begin(cases, isolated, &after);
    if (status != ASSAY_OK || memcmp(before, &after, sizeof after) == 0)
        return status;
    return assay_fail(ASSAY_ERR_FILE,
                      "the kernel, its device or this program changed during the check; "
                      "nothing is certified");
}

assay_status certify_end(const assay_cli_args *args, const cli_cases *cases,
                         const cli_results *results, const assay_device *isolated,
                         const certificate_subject *subject, FILE *to, bool *refused) {
    certifier by = {.args = args, .cases = cases, .results = results, .subject = subject, .to = to};
    assay_status status = check_unchanged(subject, cases, isolated);
    if (status == ASSAY_OK)
        status = state_directory(by.directory);
    if (status == ASSAY_OK)
        status = state_key(by.directory, by.key);
    for (int32_t s = 0; s < cases->n_selections; ++s)
        for (int32_t v = 0; status == ASSAY_OK && v < isolated->n_variants; ++v)
            if (wanted(&cases->selection[s], isolated->variants[v]))
                status = certify(&by, &cases->selection[s], isolated->variants[v]);
    *refused = by.refused;
    return status;
}
