/* A certificate with a line that says what none says is damaged, though its seal is right. */
#include "engine/certificate.h"
#include "tests/shim/assay_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define TEN    "abcdefghij"
#define LONG   TEN TEN TEN TEN TEN TEN TEN /* longer than a name */
#define LONGER LONG LONG LONG LONG LONG    /* than a file's name */
#define CASE   "weighted_sum n=3 d=5 dtype=f32 seed=0"

static const unsigned char key[HASH_KEY] = {1, 2, 3};

static const char *const lines[] = {
    "assay-certificate 2",
    "variant weighted_sum/v3",
    "device sim",
    "device_text a device",
    "kernel " DIGITS,
    "guest " DIGITS,
    "judge " DIGITS,
    "version 0.1.0",
    "date 2026-01-31T12:00:00Z",
    "set smoke",
    "sandbox none",
    "case pass 0.5 set " CASE,
    "case skip - secret " CASE "7",
    "share forward+backward f32 set 1/1 secret 0/1",
};

/* With `line` in the place of the first that begins with `word`, and `tail` behind the seal. */
static assay_status parse_with(const char *word, const char *line, const char *tail,
                               assay_certificate *c) {
    char *text, seal[HASH_TEXT];
    size_t size;
    bool placed = false;
    FILE *to = open_memstream(&text, &size);
    REQUIRE(to != NULL);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
        const bool here = !placed && strncmp(lines[i], word, strlen(word)) == 0;
        fprintf(to, "%s\n", here ? line : lines[i]);
        placed = placed || here;
    }
    REQUIRE(placed && fflush(to) == 0);
    hash_seal(key, text, size, seal);
    fprintf(to, "seal %s\n%s", seal, tail);
    REQUIRE(fclose(to) == 0);
    const assay_status status = certificate_parse(c, "it", text, size, key);
    free(text);
    return status;
}

/* Written again, it is what it was. */
static void expect_the_same_again(const assay_certificate *c) {
    assay_certificate again;
    char *text;
    size_t size;
    REQUIRE_OK(certificate_format(c, key, &text, &size));
    REQUIRE_OK(certificate_parse(&again, "it", text, size, key));
    CHECK(memcmp(&again.subject, &c->subject, sizeof c->subject) == 0);
    CHECK(again.n_cases == c->n_cases && again.cases[1].verdict == c->cases[1].verdict);
    certificate_clear(&again);
    free(text);
}

ASSAY_TEST(certificate_line, what_none_says_is_damage, "unit") {
    static const struct {
        const char *word, *line, *reason;
    } wrong[] = {
        {"assay", "assay-certificate 1", "line 1: expected \"assay-certificate 2\""},
        {"variant", "variant weighted_sum", "line 2: expected \"variant OP/NAME\""},
        {"variant", "variant " LONG "/v3", "expected \"variant OP/NAME\""},
        {"variant", "variant sum/" LONG, "expected \"variant OP/NAME\""},
        {"variant", "variants weighted_sum/v3", "expected \"variant ...\""},
        {"variant", "variant " LONG LONG, "expected \"variant ...\""},
        {"device ", "device " LONG, "line 3: expected \"device ...\""},
        {"set", "set", "expected \"set ...\""},
        {"set", "sat smoke", "expected \"set ...\""},
        {"kernel", "kernel 0123", "expected 64 hexadecimal digits"},
        {"kernel", "kernel " DIGITS "0", "expected \"kernel ...\""},
        {"judge", "judge " DIGITS "\noperator " DIGITS, "digits and the name of a file"},
        {"judge", "judge " DIGITS "\noperator " DIGITS " ", "digits and the name of a file"},
        {"judge", "judge " DIGITS "\noperator " DIGITS "0 a.so", "digits and the name of a file"},
        {"judge", "judge " DIGITS "\noperator 0123 a.so", "digits and the name of a file"},
        {"judge", "judge " DIGITS "\noperator " DIGITS " " LONGER, "expected \"operator ...\""},
        {"version", "scope \nversion 0.1.0", "expected \"scope forward\""},
        {"version", "scope sideways\nversion 0.1.0", "expected \"scope forward\""},
        {"version", "scope " LONGER "\nversion 0.1.0", "expected \"scope ...\""},
        {"case", "case pass", "line 12: expected \"case VERDICT RATIO set|secret CASE\""},
        {"case", "case pass 0.5", "expected \"case VERDICT"},
        {"case", "case pass 0.5 set", "expected \"case VERDICT"},
        {"case", "case pass 0.5 set ", "expected \"case VERDICT"},
        {"case", "case fail 0.5 set " CASE, "expected pass or skip, set or secret"},
        {"case", "case pass 0.5 mine " CASE, "expected pass or skip, set or secret"},
        {"case", "case pass  set " CASE, "expected a ratio in 0..1, or -"},
        {"case", "case pass 0.5x set " CASE, "expected a ratio in 0..1, or -"},
        {"case", "case pass 1.5 set " CASE, "expected a ratio in 0..1, or -"},
        {"case", "case pass -0.5 set " CASE, "expected a ratio in 0..1, or -"},
        {"case", "case pass nan set " CASE, "expected a ratio in 0..1, or -"},
        {"case", "case pass - set " CASE, "expected a ratio in 0..1, or -"},
        {"case", "case skip 0.5 set " CASE, "expected a ratio in 0..1, or -"},
        {"case", "case pass 0.5 set " LONGER LONGER, "expected \"case ...\""},
        {"share", "share forward f32 set 1/1 secret 0/1", "shares are not those of its cases"},
        {"share", "share forward+backward f32 set 1/1 secret 1/1", "shares are not those"},
        {"share", "shares", "expected \"seal ...\""},
    };
    assay_certificate c;
    REQUIRE_OK(parse_with("share", lines[13], "", &c));
    CHECK(c.n_cases == 2 && c.cases[0].ratio == 0.5 && c.cases[1].verdict == ASSAY_SKIP);
    certificate_clear(&c);
    REQUIRE_OK(parse_with("judge", "judge " DIGITS "\noperator " DIGITS " a.so", "", &c));
    CHECK_STREQ(c.subject.operator_file, "a.so");
    expect_the_same_again(&c);
    certificate_clear(&c);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        CHECK_FAILS(parse_with(wrong[i].word, wrong[i].line, "", &c), ASSAY_ERR_FILE,
                    wrong[i].reason);
        CHECK(c.cases == NULL);
    }
    CHECK_FAILS(parse_with("share", lines[13], "case", &c), ASSAY_ERR_FILE, "more after the seal");
}

/* Its stages are not known here, so its shares are not looked at. */
ASSAY_TEST(certificate_line, an_operator_that_is_not_here, "unit") {
    assay_certificate c;
    char why[CERTIFICATE_WHY] = "";
    bool holds;
    REQUIRE_OK(parse_with("variant", "variant nosuch/v3", "", &c));
    expect_the_same_again(&c);
    const certificate_subject now = c.subject;
    c.cases[1].verdict = ASSAY_PASS;
    REQUIRE_OK(certificate_holds(&c, &now, &holds, why));
    CHECK(!holds && strstr(why, "there is no set smoke of nosuch"));
    certificate_clear(&c);
    REQUIRE_OK(parse_with("set", "set largest", "", &c));
    const certificate_subject same = c.subject;
    c.cases[1].verdict = ASSAY_PASS;
    REQUIRE_OK(certificate_holds(&c, &same, &holds, why));
    CHECK_MSG(!holds && strstr(why, "there is no set largest of weighted_sum"), "%s", why);
    certificate_clear(&c);
}

/* Cases that name no dtype that there is count nowhere; an operator may have no backward. */
ASSAY_TEST(certificate_line, shares_of_what_there_is, "unit") {
    assay_certificate c;
    CHECK(parse_with("case pass", "case pass 0.5 set adamw n=3", "", &c) == ASSAY_ERR_FILE);
    CHECK(parse_with("case pass", "case pass 0.5 set a dtype=f12", "", &c) == ASSAY_ERR_FILE);
    CHECK(parse_with("case pass", "case pass 0.5 set a dtype=i32", "", &c) == ASSAY_ERR_FILE);
    CHECK(parse_with("variant", "variant adamw/v3", "", &c) == ASSAY_ERR_FILE);
}
