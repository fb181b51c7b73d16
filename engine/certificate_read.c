/* Reads a certificate's text, which may be any bytes (proofs/certificate.c). */
#include "engine/certificate.h"
#include "engine/share.h"

#include "assay/op.h"

#include <stdlib.h>
#include <string.h>

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
    const size_t n = strlen(CERTIFICATE_FIRST_LINE);
    r->line = 1;
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, CERTIFICATE_FIRST_LINE, n) != 0)
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
    char *end = ratio;
    const double worst = pass ? strtod(ratio, &end) : 0;
    const bool good = pass ? end != ratio && end == origin - 1 : strcmp(ratio, "-") == 0;
    if (!good || !(worst >= 0 && worst <= 1))
        return damaged(r, "expected a ratio in 0..1, or -");
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
    share_print(to, c, CERTIFICATE_SHARE);
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
    while (status == ASSAY_OK && begins(&r, CERTIFICATE_SHARE) && next_line(&r, &line, &length))
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
