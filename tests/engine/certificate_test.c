/* A certificate reads back as it was written, and no change to it, to the code or to the cases goes
 * unseen. */
#include "engine/certificate.h"
#include "engine/share.h"
#include "tests/shim/assay_test.h"

#include "assay/op.h"

#include <stdlib.h>
#include <string.h>

static const unsigned char key[HASH_KEY] = {1, 2, 3}, other_key[HASH_KEY] = {1, 2, 4};

static assay_status add(const assay_case *c, void *context) {
    char text[ASSAY_CASE_TEXT];
    return certificate_add(context, ASSAY_PASS, 0.25, false, assay_case_format(c, text));
}

static void hash_of(char digit, char hash[HASH_TEXT]) {
    memset(hash, digit, HASH_TEXT - 1);
    hash[HASH_TEXT - 1] = '\0';
}

/* One of kronecker's smoke set, with a secret case. */
static void make(assay_certificate *c) {
    certificate_subject s = {.op = "kronecker",
                             .variant = "v3",
                             .device = "sim",
                             .device_text = "a device, with its driver"};
    hash_of('a', s.kernel);
    hash_of('b', s.guest);
    hash_of('c', s.judge);
    *c = (assay_certificate){.subject = s,
                             .version = "0.1.0",
                             .date = "2026-01-31T12:00:00Z",
                             .set = "smoke",
                             .sandbox = "user pid mount network ipc seccomp privileges limits"};
    REQUIRE_OK(assay_op_visit_set(assay_op_find("kronecker", 9), ASSAY_SMOKE, add, c));
    REQUIRE_OK(certificate_add(c, ASSAY_PASS, 1, true, "kronecker b=1 f=2 dtype=f32 seed=77"));
}

static char *make_text(size_t *size) {
    assay_certificate c;
    char *text;
    make(&c);
    REQUIRE_OK(certificate_format(&c, key, &text, size));
    certificate_clear(&c);
    return text;
}

ASSAY_TEST(certificate, reads_back_as_written, "unit") {
    assay_certificate a, b;
    size_t size, again_size;
    char *text = make_text(&size), *again;
    make(&a);
    REQUIRE_OK(certificate_parse(&b, "it", text, size, key));
    CHECK(memcmp(&a.subject, &b.subject, sizeof a.subject) == 0);
    CHECK(b.n_cases == a.n_cases && b.cases[b.n_cases - 1].secret && !b.cases[0].secret);
    REQUIRE_OK(certificate_format(&b, key, &again, &again_size));
    CHECK(again_size == size && memcmp(again, text, size) == 0);
    certificate_clear(&a);
    certificate_clear(&b);
    free(again);
    free(text);
}

ASSAY_TEST(certificate, reads_back_with_its_scope, "unit") {
    assay_certificate a, b;
    size_t size;
    char *text;
    make(&a);
    a.subject.scope = (check_scope){.forward = true, .packed = true};
    REQUIRE_OK(certificate_format(&a, key, &text, &size));
    REQUIRE_OK(certificate_parse(&b, "it", text, size, key));
    CHECK(b.subject.scope.forward && b.subject.scope.packed);
    certificate_clear(&a);
    certificate_clear(&b);
    free(text);
}

ASSAY_TEST(certificate, any_changed_byte_is_seen, "unit") {
    assay_certificate c;
    size_t size;
    char *text = make_text(&size);
    for (size_t i = 0; i < size; ++i) {
        text[i] ^= 1;
        CHECK_MSG(certificate_parse(&c, "it", text, size, key) == ASSAY_ERR_FILE,
                  "byte %zu was changed", i);
        text[i] ^= 1;
    }
    for (size_t shorter = 0; shorter < size; ++shorter)
        CHECK(certificate_parse(&c, "it", text, shorter, key) == ASSAY_ERR_FILE);
    CHECK_FAILS(certificate_parse(&c, "it", text, size, other_key), ASSAY_ERR_FILE, "seal");
    free(text);
}

/* Sealed by a holder of the key: the life still ends with what it was about. */
typedef void (*changer)(assay_certificate *c, certificate_subject *now);

static void no_change(assay_certificate *c, certificate_subject *now) {
    (void)c;
    (void)now;
}
static void other_kernel(assay_certificate *c, certificate_subject *now) {
    (void)c;
    now->kernel[5] = '0';
}
static void other_guest(assay_certificate *c, certificate_subject *now) {
    (void)c;
    now->guest[5] = '0';
}
static void other_judge(assay_certificate *c, certificate_subject *now) {
    (void)c;
    now->judge[5] = '0';
}
static void other_driver(assay_certificate *c, certificate_subject *now) {
    (void)c;
    now->device_text[5] = '0';
}
static void other_variant(assay_certificate *c, certificate_subject *now) {
    (void)c;
    now->variant[1] = '4';
}
static void fewer_cases(assay_certificate *c, certificate_subject *now) {
    (void)now;
    free(c->cases[3].text);
    memmove(&c->cases[3], &c->cases[4], (size_t)(c->n_cases - 4) * sizeof *c->cases);
    --c->n_cases;
}
static void another_case(assay_certificate *c, certificate_subject *now) {
    (void)now;
    c->cases[c->n_cases - 1].secret = false; /* as if the set had lost it since */
}
static void changed_case(assay_certificate *c, certificate_subject *now) {
    (void)now;
    c->cases[2].text[strlen(c->cases[2].text) - 1] ^= 1; /* its seed */
}
static void other_set(assay_certificate *c, certificate_subject *now) {
    (void)now;
    strcpy(c->set, "ci");
}
static void less_proven(assay_certificate *c, certificate_subject *now) {
    (void)now;
    c->subject.scope.forward = true;
}
static void packed_alone(assay_certificate *c, certificate_subject *now) {
    c->subject.scope.packed = now->scope.packed = true; /* but its cases are not */
}
static void nothing_passed(assay_certificate *c, certificate_subject *now) {
    (void)now;
    for (int64_t i = 0; i < c->n_cases; ++i)
        c->cases[i].verdict = ASSAY_SKIP;
}

ASSAY_TEST(certificate, its_life_ends_with_any_change, "unit") {
    static const struct {
        changer change;
        const char *why;
    } changes[] = {
        {no_change, NULL},
        {other_kernel, "the kernel's code has changed"},
        {other_guest, "the program that ran it has changed"},
        {other_judge, "the program that judged it has changed"},
        {other_driver, "driver has changed"},
        {other_variant, "another variant"},
        {fewer_cases, "the cases of the set smoke are others: kronecker"},
        {another_case, "the cases of the set smoke are others: kronecker"},
        {changed_case, "the cases of the set smoke are others: kronecker"},
        {less_proven, "other stages or layouts"},
        {packed_alone, "the cases of the set smoke are others: kronecker"},
        {other_set, "the cases of the set ci are others: kronecker"},
        {nothing_passed, "no case of it passed"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; ++i) {
        assay_certificate c;
        char why[CERTIFICATE_WHY] = "";
        bool holds;
        make(&c);
        certificate_subject now = c.subject;
        changes[i].change(&c, &now);
        REQUIRE_OK(certificate_holds(&c, &now, &holds, why));
        CHECK(holds == (changes[i].why == NULL));
        CHECK_MSG(!changes[i].why || strstr(why, changes[i].why), "\"%s\" says nothing of: %s", why,
                  changes[i].why);
        certificate_clear(&c);
    }
}

/* Of packed tensors alone a set's cases that differ in their layout are one. */
static assay_status add_packed(const assay_case *c, void *context) {
    assay_certificate *to = context;
    char text[ASSAY_CASE_TEXT];
    assay_case packed = *c;
    scope_apply(to->subject.scope, &packed);
    assay_case_format(&packed, text);
    for (int64_t i = 0; i < to->n_cases; ++i)
        if (strcmp(to->cases[i].text, text) == 0)
            return ASSAY_OK;
    return certificate_add(to, ASSAY_PASS, 0.25, false, text);
}

ASSAY_TEST(certificate, packed_cases_count_once, "unit") {
    assay_certificate c;
    char why[CERTIFICATE_WHY] = "";
    bool holds;
    make(&c);
    const certificate_subject subject = c.subject;
    certificate_clear(&c);
    c = (assay_certificate){.subject = subject, .set = "ci"};
    c.subject.scope.packed = true;
    REQUIRE_OK(certificate_add(&c, ASSAY_PASS, 1, true, "kronecker b=1 f=2 dtype=f32 seed=77"));
    REQUIRE_OK(assay_op_visit_set(assay_op_find("kronecker", 9), ASSAY_CI, add_packed, &c));
    const certificate_subject now = c.subject;
    REQUIRE_OK(certificate_holds(&c, &now, &holds, why));
    CHECK_MSG(holds, "%s", why);
    certificate_clear(&c);
}

ASSAY_TEST(certificate, hashes_of_files_and_of_nothing, "unit") {
    char hash[HASH_TEXT];
    hash_bytes(NULL, 0, hash);
    CHECK_STREQ(hash, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    hash_bytes("abc", 3, hash);
    CHECK_STREQ(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK_FAILS(hash_file("/nosuch/file", hash), ASSAY_ERR_FILE, "cannot be read");
    CHECK_FAILS(hash_file("/", hash), ASSAY_ERR_FILE, "/: cannot be read to its end");
}

/* RFC 4231, test case 2, its key padded with zeros as HMAC itself does. */
ASSAY_TEST(certificate, seal_is_hmac_sha256, "unit") {
    static const unsigned char jefe[HASH_KEY] = "Jefe";
    static const char message[] = "what do ya want for nothing?";
    char seal[HASH_TEXT];
    hash_seal(jefe, message, strlen(message), seal);
    CHECK_STREQ(seal, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

/* ---- how much of it ran, and behind which walls ---- */

static void decline(assay_certificate *c, const char *dtype, bool secret, int64_t most) {
    char word[32];
    snprintf(word, sizeof word, " dtype=%s", dtype);
    for (int64_t i = 0; i < c->n_cases && most > 0; ++i) {
        certificate_case *one = &c->cases[i];
        if (one->secret != secret || !strstr(one->text, word) || one->verdict == ASSAY_SKIP)
            continue;
        one->verdict = ASSAY_SKIP;
        one->ratio = 0;
        --most;
    }
}

static bool suffices(void (*change)(assay_certificate *c), char why[CERTIFICATE_WHY]) {
    assay_certificate c;
    make(&c);
    for (int i = 0; i < 3; ++i)
        REQUIRE_OK(
            certificate_add(&c, ASSAY_PASS, 0.5, true, "kronecker b=1 f=2 dtype=f32 seed=7"));
    change(&c);
    const bool enough = share_suffices(&c, why);
    certificate_clear(&c);
    return enough;
}

static void nothing(assay_certificate *c) {
    (void)c;
}
static void one_secret(assay_certificate *c) {
    decline(c, "f32", true, 1);
}
static void two_secrets(assay_certificate *c) {
    decline(c, "f32", true, 2);
}
static void most_of_f64(assay_certificate *c) {
    certificate_share share[ASSAY_DTYPES];
    share_count(c, share);
    decline(c, "f64", false, share[ASSAY_F64].set - 1);
}
static void all_of_f64(assay_certificate *c) {
    decline(c, "f64", false, c->n_cases);
}
static void everything(assay_certificate *c) {
    for (int d = 0; d < ASSAY_DTYPES; ++d)
        for (int secret = 0; secret < 2; ++secret)
            decline(c, assay_dtype_name((assay_dtype)d), secret == 1, c->n_cases);
}

ASSAY_TEST(certificate, a_variant_may_decline_a_quarter, "unit") {
    char why[CERTIFICATE_WHY] = "";
    CHECK(suffices(nothing, why));
    CHECK(suffices(one_secret, why));
    CHECK(!suffices(two_secrets, why) && strstr(why, "it ran 2 of 4 secret cases in f32"));
    CHECK(!suffices(most_of_f64, why) && strstr(why, "of the set's cases in f64"));
    CHECK(suffices(all_of_f64, why)); /* it has no f64, and the certificate says so */
    CHECK(!suffices(everything, why) && strstr(why, "no case of it passed"));
}

ASSAY_TEST(certificate, walls_that_did_not_stand_are_named, "unit") {
    assay_certificate c;
    char why[CERTIFICATE_WHY];
    make(&c);
    CHECK(certificate_sandboxed(&c, why));
    strcpy(c.sandbox, "user mount network ipc landlock seccomp privileges");
    CHECK(!certificate_sandboxed(&c, why) && strstr(why, "of a sandbox: pid limits"));
    strcpy(c.sandbox, "none");
    CHECK(!certificate_sandboxed(&c, why));
    certificate_clear(&c);
}
