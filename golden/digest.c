#include "golden/digest.h"

#include <inttypes.h>
#include <sha256.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "digests are over little-endian bytes");

static void add_text(struct sha256 *s, const char *format, ...) ASSAY_PRINTF(2, 3);
static void add_text(struct sha256 *s, const char *format, ...) {
    char text[ASSAY_CASE_TEXT + 64];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    sha256_update(s, text, strlen(text));
}

static void finish(struct sha256 *s, char sha256[GOLDEN_SHA256]) {
    uint8_t digest[32];
    sha256_sum(s, digest);
    for (size_t i = 0; i < sizeof digest; ++i)
        snprintf(sha256 + 2 * i, 3, "%02x", digest[i]);
}

void golden_digest_tensor(const assay_tensor_spec *spec, const double *data,
                          char sha256[GOLDEN_SHA256]) {
    struct sha256 s;
    sha256_init(&s);
    add_text(&s, "f64[");
    for (int32_t a = 0; a < spec->rank; ++a)
        add_text(&s, "%s%" PRId64, a > 0 ? "," : "", spec->shape[a]);
    add_text(&s, "]\n");
    sha256_update(&s, data, (size_t)assay_spec_count(spec) * sizeof *data);
    finish(&s, sha256);
}

void golden_digest_case(const golden_record *record, char sha256[GOLDEN_SHA256]) {
    struct sha256 s;
    sha256_init(&s);
    add_text(&s, "schema=%d\n", GOLDEN_SCHEMA);
    add_text(&s, "case=%s\n", record->text);
    add_text(&s, "seed=%" PRIu64 "\n", record->golden.problem.c.seed);
    add_text(&s, "source=%s\n", record->golden.source);
    add_text(&s, "foreign=%d\n", record->golden.foreign);
    add_text(&s, "library=%s\n", record->library);
    add_text(&s, "version=%s\n", record->version);
    for (int32_t i = 0; i < record->n_entries; ++i) {
        const golden_entry *e = &record->entry[i];
        if (*e->data != NULL)
            add_text(&s, "%s/%s=%s\n", golden_group_name(e->group), e->name, e->sha256);
    }
    finish(&s, sha256);
}
