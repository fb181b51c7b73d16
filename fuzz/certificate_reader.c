/*
 * The reader of certificates: of any bytes, as they are and under a right seal, it gives a line
 * that says what is wrong, or a certificate that is written and read back as itself.
 */
#include "engine/certificate.h"
#include "fuzz/fuzz.h"

#include <stdbool.h>
#include <string.h>

static const unsigned char key[HASH_KEY] = {7, 1, 7};

static bool same_case(const certificate_case *a, const certificate_case *b) {
    return a->verdict == b->verdict && a->secret == b->secret && strcmp(a->text, b->text) == 0;
}

static bool same_subject(const certificate_subject *a, const certificate_subject *b) {
    return strcmp(a->op, b->op) == 0 && strcmp(a->variant, b->variant) == 0 &&
           strcmp(a->device, b->device) == 0 && strcmp(a->device_text, b->device_text) == 0 &&
           strcmp(a->kernel, b->kernel) == 0 && strcmp(a->guest, b->guest) == 0 &&
           strcmp(a->judge, b->judge) == 0 &&
           strcmp(scope_words(a->scope), scope_words(b->scope)) == 0;
}

static void expect_same(const assay_certificate *a, const assay_certificate *b) {
    FUZZ_EXPECT(same_subject(&a->subject, &b->subject));
    FUZZ_EXPECT(strcmp(a->version, b->version) == 0 && strcmp(a->date, b->date) == 0 &&
                strcmp(a->set, b->set) == 0 && strcmp(a->sandbox, b->sandbox) == 0);
    FUZZ_EXPECT(a->n_cases == b->n_cases);
    for (int64_t i = 0; i < a->n_cases; ++i)
        FUZZ_EXPECT(same_case(&a->cases[i], &b->cases[i]));
}

static void expect_sane(const assay_certificate *c) {
    for (int64_t i = 0; i < c->n_cases; ++i) {
        const certificate_case *one = &c->cases[i];
        FUZZ_EXPECT(one->verdict == ASSAY_PASS || one->verdict == ASSAY_SKIP);
        FUZZ_EXPECT(one->ratio >= 0 && one->ratio <= 1);
        FUZZ_EXPECT(one->text[0] != '\0' && strchr(one->text, '\n') == NULL);
    }
}

/* The sets of some operators hold thousands of cases: only the smallest is walked. */
static void expect_life(const assay_certificate *c) {
    certificate_subject now = c->subject;
    char why[CERTIFICATE_WHY] = "";
    bool holds;
    if (strcmp(c->set, "smoke") != 0)
        return;
    FUZZ_EXPECT(certificate_holds(c, &now, &holds, why) == ASSAY_OK);
    FUZZ_EXPECT(holds || why[0] != '\0');
    now.judge[0] ^= 1;
    FUZZ_EXPECT(certificate_holds(c, &now, &holds, why) == ASSAY_OK && !holds);
}

static void expect_round_trip(const assay_certificate *c) {
    assay_certificate again;
    size_t size;
    char *text;
    FUZZ_EXPECT(certificate_format(c, key, &text, &size) == ASSAY_OK);
    FUZZ_EXPECT(certificate_parse(&again, "again", text, size, key) == ASSAY_OK);
    expect_same(c, &again);
    certificate_clear(&again);
    free(text);
}

static void read_text(const char *text, size_t size) {
    assay_certificate c;
    if (certificate_parse(&c, "it", text, size, key) != ASSAY_OK) {
        fuzz_expect_line();
        FUZZ_EXPECT(c.n_cases == 0 && c.cases == NULL);
        return;
    }
    expect_sane(&c);
    expect_round_trip(&c);
    expect_life(&c);
    certificate_clear(&c);
}

/* "seal HASH\n" behind the bytes. */
static void read_sealed(const char *text, size_t size) {
    char seal[HASH_TEXT];
    const size_t room = size + HASH_TEXT + 8;
    char *sealed = malloc(room);
    FUZZ_EXPECT(sealed != NULL);
    memcpy(sealed, text, size);
    hash_seal(key, text, size, seal);
    const int added = snprintf(sealed + size, room - size, "seal %s\n", seal);
    read_text(sealed, size + (size_t)added);
    free(sealed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    read_text((const char *)data, size);
    read_sealed((const char *)data, size);
    return 0;
}
