/* SHA-256 against the examples of FIPS 180-2, appendix B, and NIST's byte-oriented vectors. */
#include "tests/shim/assay_test.h"

#include <sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In pieces of `step` bytes, so that every way of filling a block is taken. */
static void check_digest(const void *message, size_t length, size_t step, const char *want) {
    struct sha256 s;
    uint8_t digest[32];
    char hex[65];
    sha256_init(&s);
    for (size_t at = 0; at < length; at += step)
        sha256_update(&s, (const char *)message + at, length - at < step ? length - at : step);
    sha256_sum(&s, digest);
    for (size_t i = 0; i < sizeof digest; ++i)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    CHECK_STREQ(hex, want);
}

ASSAY_TEST(sha256, known_answers, "unit golden") {
    static const struct {
        const char *message, *digest;
    } known[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrl"
         "mnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
        {"\xbd", "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b"},
        {"\xc9\x8c\x8e\x55", "7abc22c0ae5af26ce93dbb94433a0e0b2e119d014f8e7f65bd56c61ccccd9504"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
        for (size_t step = 1; step <= 130; step += 3)
            check_digest(known[i].message, strlen(known[i].message), step, known[i].digest);
}

ASSAY_TEST(sha256, a_million_letters, "unit golden") {
    enum { LENGTH = 1000000 };
    char *letters = malloc(LENGTH);
    REQUIRE(letters != NULL);
    memset(letters, 'a', LENGTH);
    for (size_t step = 1; step <= LENGTH; step = step * 11 + 7)
        check_digest(letters, LENGTH, step,
                     "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(letters);
}
