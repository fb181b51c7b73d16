#include "engine/certificate.h"
#include "engine/isolate.h"
#include "engine/operator_library.h"
#include "engine/share.h"

#include "assay/op.h"

#include <ctype.h>
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char first_line[] = "assay-certificate 2\n";

static const char share_word[] = "share ";

/* ---- the subject ---- */

static assay_status hash_kernel(const assay_device *isolated, const assay_variant *variant,
                                char hash[HASH_TEXT]) {
    Dl_info info;
    if (assay_isolated_kernel(isolated, variant)) {
        memcpy(hash, assay_isolated_kernel_hash(isolated), HASH_TEXT);
        return ASSAY_OK;
    }
    if (isolated->simulated)
        return hash_file(assay_isolated_program(isolated, variant), hash);
    if (dladdr(variant, &info) == 0 || !info.dli_fname)
        return assay_fail(ASSAY_ERR_FILE, "%s: the file that holds %s/%s is not known",
                          isolated->name, variant->op, variant->name);
    return hash_file(info.dli_fname, hash); /* the device's module: the guest loads the same */
}

void certificate_name_operator(certificate_subject *subject) {
    subject->operator[0] = subject->operator_file[0] = '\0';
    const operator_library *l = operator_library_of(subject->op);
    if (!l)
        return;
    const char *slash = strrchr(l->path, '/');
    memcpy(subject->operator, l->hash, sizeof subject->operator);
    snprintf(subject->operator_file, sizeof subject->operator_file, "%.200s",
             slash ? slash + 1 : l->path);
    for (char *c = subject->operator_file; *c != '\0'; ++c)
        if (iscntrl((unsigned char)*c))
            *c = '?';
}

assay_status certificate_subject_init(certificate_subject *subject, const assay_device *isolated,
                                      const assay_variant *variant) {
    char text[ASSAY_DEVICE_TEXT];
    *subject = (certificate_subject){0};
    snprintf(subject->op, sizeof subject->op, "%s", variant->op);
    snprintf(subject->variant, sizeof subject->variant, "%s", variant->name);
    snprintf(subject->device, sizeof subject->device, "%s", isolated->name);
    assay_status status = isolated->probe(text);
    if (status == ASSAY_OK) {
        snprintf(subject->device_text, sizeof subject->device_text, "%s", text);
        status = hash_kernel(isolated, variant, subject->kernel);
    }
    if (status == ASSAY_OK)
        status = hash_file(assay_isolated_program(isolated, variant), subject->guest);
    if (status == ASSAY_OK)
        status = hash_file("/proc/self/exe", subject->judge);
    certificate_name_operator(subject);
    return status;
}

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
    fprintf(to, "%s", first_line);
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
    share_print(to, c, share_word);
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

/* ---- reading ---- */

typedef struct reader {
    const char *name;
    const char *at, *end; /* not yet read */
    int line;
} reader;

static assay_status damaged(const reader *r, const char *what) {
    return assay_fail(ASSAY_ERR_FILE,
                      "%.200s, line %d: %s; it is damaged: delete it, and certify again", r->name,
                      r->line, what);
}

/* The next line, without its end; false when there is none that is whole. */
static bool next_line(reader *r, const char **line, size_t *length) {
    const char *end = memchr(r->at, '\n', (size_t)(r->end - r->at));
    ++r->line;
    if (!end)
        return false;
    *line = r->at;
    *length = (size_t)(end - r->at);
    r->at = end + 1;
    return memchr(*line, '\0', *length) == NULL;
}

/* "word rest": the rest of the next line. */
static assay_status read_value(reader *r, const char *word, char *value, size_t size) {
    const char *line;
    size_t length;
    const size_t n = strlen(word);
    char what[64];
    snprintf(what, sizeof what, "expected \"%s ...\"", word);
    if (!next_line(r, &line, &length) || length < n + 1 || memcmp(line, word, n) != 0 ||
        line[n] != ' ' || length - n - 1 >= size)
        return damaged(r, what);
    memcpy(value, line + n + 1, length - n - 1);
    value[length - n - 1] = '\0';
    return ASSAY_OK;
}

static bool begins(const reader *r, const char *word) {
    const size_t n = strlen(word);
    return (size_t)(r->end - r->at) >= n && memcmp(r->at, word, n) == 0;
}

static assay_status read_scope(reader *r, check_scope *scope) {
    char value[SCOPE_TEXT];
    const assay_status status = read_value(r, "scope", value, sizeof value);
    if (status == ASSAY_OK && (value[0] == '\0' || !scope_parse(value, scope)))
        return damaged(r, "expected \"scope forward\", \"scope packed\" or both words");
    return status;
}

static assay_status read_hash(reader *r, const char *word, char hash[HASH_TEXT]) {
    const assay_status status = read_value(r, word, hash, HASH_TEXT);
    if (status == ASSAY_OK && strspn(hash, "0123456789abcdef") != HASH_TEXT - 1)
        return damaged(r, "expected 64 hexadecimal digits");
    return status;
}

/* "HASH FILE" */
static assay_status read_operator(reader *r, certificate_subject *s) {
    char value[HASH_TEXT + CERTIFICATE_TEXT];
    const assay_status status = read_value(r, "operator", value, sizeof value);
    if (status != ASSAY_OK)
        return status;
    const size_t digits = HASH_TEXT - 1;
    if (strspn(value, "0123456789abcdef") != digits || value[digits] != ' ' ||
        value[digits + 1] == '\0' || strlen(value + digits + 1) >= sizeof s->operator_file)
        return damaged(r, "expected 64 hexadecimal digits and the name of a file");
    memcpy(s->operator, value, digits);
    snprintf(s->operator_file, sizeof s->operator_file, "%s", value + digits + 1);
    return ASSAY_OK;
}

static assay_status read_variant(reader *r, certificate_subject *s) {
    char value[2 * CERTIFICATE_NAME];
    const assay_status status = read_value(r, "variant", value, sizeof value);
    if (status != ASSAY_OK)
        return status;
    const size_t op = strcspn(value, "/");
    if (value[op] != '/' || op >= sizeof s->op || strlen(value + op + 1) >= sizeof s->variant)
        return damaged(r, "expected \"variant OP/NAME\"");
    memcpy(s->op, value, op);
    s->op[op] = '\0';
    snprintf(s->variant, sizeof s->variant, "%s", value + op + 1);
    return ASSAY_OK;
}

static assay_status read_head(reader *r, assay_certificate *c) {
    certificate_subject *s = &c->subject;
    const size_t n = strlen(first_line);
    r->line = 1;
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, first_line, n) != 0)
        return damaged(r, "expected \"assay-certificate 2\"");
    r->at += n;
    assay_status status = read_variant(r, s);
    if (status == ASSAY_OK)
        status = read_value(r, "device", s->device, sizeof s->device);
    if (status == ASSAY_OK)
        status = read_value(r, "device_text", s->device_text, sizeof s->device_text);
    if (status == ASSAY_OK)
        status = read_hash(r, "kernel", s->kernel);
    if (status == ASSAY_OK)
        status = read_hash(r, "guest", s->guest);
    if (status == ASSAY_OK)
        status = read_hash(r, "judge", s->judge);
    if (status == ASSAY_OK && begins(r, "operator "))
        status = read_operator(r, s);
    if (status == ASSAY_OK && begins(r, "scope "))
        status = read_scope(r, &s->scope);
    if (status == ASSAY_OK)
        status = read_value(r, "version", c->version, sizeof c->version);
    if (status == ASSAY_OK)
        status = read_value(r, "date", c->date, sizeof c->date);
    if (status == ASSAY_OK)
        status = read_value(r, "set", c->set, sizeof c->set);
    if (status == ASSAY_OK)
        status = read_value(r, "sandbox", c->sandbox, sizeof c->sandbox);
    return status;
}

/* "pass 0.213 set TEXT", "skip - set TEXT" */
static assay_status read_case(reader *r, assay_certificate *c) {
    char value[ASSAY_CASE_TEXT + 64];
    assay_status status = read_value(r, "case", value, sizeof value);
    if (status != ASSAY_OK)
        return status;
    char *verdict = value, *ratio = strchr(verdict, ' ');
    char *origin = ratio ? strchr(ratio + 1, ' ') : NULL;
    char *text = origin ? strchr(origin + 1, ' ') : NULL;
    if (!text || text[1] == '\0')
        return damaged(r, "expected \"case VERDICT RATIO set|secret CASE\"");
    *ratio++ = *origin++ = *text++ = '\0';
    const bool pass = strcmp(verdict, "pass") == 0, secret = strcmp(origin, "secret") == 0;
    if ((!pass && strcmp(verdict, "skip") != 0) || (!secret && strcmp(origin, "set") != 0))
        return damaged(r, "expected pass or skip, set or secret");
    char *end = ratio + 1;
    const double worst = pass ? strtod(ratio, &end) : 0;
    if (*end != '\0' || end == ratio || (!pass && *ratio != '-') || !(worst >= 0 && worst <= 1))
        return damaged(r, "expected a ratio in 0..1");
    return certificate_add(c, pass ? ASSAY_PASS : ASSAY_SKIP, worst, secret, text);
}

static assay_status read_seal(reader *r, const char *text, const unsigned char key[HASH_KEY]) {
    char seal[HASH_TEXT], expected[HASH_TEXT];
    hash_seal(key, text, (size_t)(r->at - text), expected);
    const assay_status status = read_hash(r, "seal", seal);
    if (status != ASSAY_OK)
        return status;
    if (r->at != r->end)
        return damaged(r, "there is more after the seal");
    if (strcmp(seal, expected) != 0)
        return assay_fail(ASSAY_ERR_FILE,
                          "%.200s: its seal is broken: it was changed, or made with another key; "
                          "delete it, and certify again",
                          r->name);
    return ASSAY_OK;
}

/* They follow from the cases, and are there for people: no others are taken. */
static assay_status check_shares(const reader *r, const assay_certificate *c, const char *shares,
                                 size_t length) {
    char *text = NULL;
    size_t size = 0;
    if (!assay_op_find(c->subject.op, strlen(c->subject.op)))
        return ASSAY_OK; /* which stages it has is not known here */
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for a certificate");
    share_print(to, c, share_word);
    const bool good = fclose(to) == 0;
    const bool same = good && length == size && memcmp(shares, text, size) == 0;
    free(text);
    if (!good)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for a certificate");
    return same ? ASSAY_OK : damaged(r, "the shares are not those of its cases");
}

assay_status certificate_parse(assay_certificate *c, const char *name, const char *text,
                               size_t size, const unsigned char key[HASH_KEY]) {
    reader r = {.name = name, .at = text, .end = text + size};
    *c = (assay_certificate){0};
    assay_status status = read_head(&r, c);
    while (status == ASSAY_OK && begins(&r, "case "))
        status = read_case(&r, c);
    const char *line, *shares = r.at;
    size_t length;
    while (status == ASSAY_OK && begins(&r, share_word) && next_line(&r, &line, &length))
        continue;
    const size_t shared = (size_t)(r.at - shares);
    if (status == ASSAY_OK)
        status = read_seal(&r, text, key);
    if (status == ASSAY_OK)
        status = check_shares(&r, c, shares, shared);
    if (status != ASSAY_OK)
        certificate_clear(c);
    return status;
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
