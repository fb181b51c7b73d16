/* Fat binaries laid out as nvcc does, and damaged ones. */
#include "sim/exec/fatbin.h"

#include "tests/shim/assay_test.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(EXEC_ZSTD)
#include <zstd.h>
#endif
#if defined(EXEC_LZ4)
#include <lz4.h>
#endif

enum { PTX = 1, MACHINE_CODE = 2, LZ4 = 0x2000, ZSTD = 0x8000, ROOM = 4096 };

static const char text[] = ".version 9.0\n.target sm_80\n.address_size 64\n"
                           "// the same words, the same words, the same words, the same words\n";

typedef struct image {
    char bytes[ROOM];
    size_t used;
} image;

static void put(image *to, size_t at, uint64_t value, size_t bytes) {
    memcpy(to->bytes + at, &value, bytes);
}

static void begin(image *to) {
    memset(to, 0, sizeof *to);
    put(to, 0, 0xba55ed50, 4);
    put(to, 4, 1, 2);
    put(to, 6, 16, 2);
    to->used = 16;
}

/* An entry whose header is 16 bytes longer than the least, as one with options. */
static void add(image *to, unsigned kind, unsigned architecture, unsigned flags,
                const void *payload, size_t bytes, size_t plain) {
    const size_t at = to->used, padded = (bytes + 7) / 8 * 8;
    put(to, at, kind, 2);
    put(to, at + 4, 80, 4);
    put(to, at + 8, padded, 8);
    put(to, at + 16, flags != 0 ? bytes : 0, 4);
    put(to, at + 28, architecture, 4);
    put(to, at + 40, flags, 8);
    put(to, at + 56, plain, 8);
    memcpy(to->bytes + at + 80, payload, bytes);
    to->used += 80 + padded;
    put(to, 8, to->used - 16, 8);
}

static void check_text(const image *from, int32_t device, int32_t architecture) {
    exec_ptx ptx;
    REQUIRE_OK(exec_fatbin_ptx(from->bytes, from->used, device, &ptx));
    CHECK_STREQ(ptx.text, text);
    CHECK(ptx.size == strlen(text) && ptx.architecture == architecture);
    free(ptx.text);
}

ASSAY_TEST(exec_fatbin, takes_plain_ptx, "unit") {
    image i;
    begin(&i);
    add(&i, MACHINE_CODE, 80, 0, "\177ELF", 4, 0);
    add(&i, PTX, 80, 0, text, sizeof text, 0);
    check_text(&i, 90, 80);
}

ASSAY_TEST(exec_fatbin, takes_the_newest_that_fits, "unit") {
    image i;
    begin(&i);
    add(&i, PTX, 75, 0, "old", 4, 0);
    add(&i, PTX, 90, 0, text, sizeof text, 0);
    add(&i, PTX, 100, 0, "new", 4, 0);
    add(&i, PTX, 80, 0, "older", 6, 0);
    check_text(&i, 90, 90);
}

ASSAY_TEST(exec_fatbin, passes_over_an_empty_header, "unit") {
    image outer, inner;
    begin(&inner);
    add(&inner, PTX, 80, 0, text, sizeof text, 0);
    begin(&outer);
    memcpy(outer.bytes + outer.used, inner.bytes, inner.used);
    outer.used += inner.used;
    check_text(&outer, 90, 80);
}

ASSAY_TEST(exec_fatbin, expands_zstd, "unit") {
#if defined(EXEC_ZSTD)
    char packed[512];
    const size_t bytes = ZSTD_compress(packed, sizeof packed, text, strlen(text), 3);
    REQUIRE(!ZSTD_isError(bytes));
    image i;
    begin(&i);
    add(&i, PTX, 80, ZSTD, packed, bytes, strlen(text));
    check_text(&i, 90, 80);

    exec_ptx ptx;
    put(&i, 16 + 56, strlen(text) + 1, 8);
    CHECK_FAILS(exec_fatbin_ptx(i.bytes, i.used, 90, &ptx), ASSAY_ERR_FILE, "in place of");
    put(&i, 16 + 80, 0, 4);
    CHECK_FAILS(exec_fatbin_ptx(i.bytes, i.used, 90, &ptx), ASSAY_ERR_FILE, "zstd, is damaged");
#else
    SKIP("assay was built without libzstd-dev");
#endif
}

ASSAY_TEST(exec_fatbin, expands_lz4, "unit") {
#if defined(EXEC_LZ4)
    char packed[512];
    const int bytes = LZ4_compress_default(text, packed, (int)strlen(text), (int)sizeof packed);
    REQUIRE(bytes > 0);
    image i;
    begin(&i);
    add(&i, PTX, 80, LZ4, packed, (size_t)bytes, strlen(text));
    check_text(&i, 90, 80);

    exec_ptx ptx;
    put(&i, 16 + 56, strlen(text) - 1, 8);
    CHECK_FAILS(exec_fatbin_ptx(i.bytes, i.used, 90, &ptx), ASSAY_ERR_FILE, "LZ4, is damaged");
#else
    SKIP("assay was built without liblz4-dev");
#endif
}

ASSAY_TEST(exec_fatbin, says_what_there_is_where_nothing_fits, "unit") {
    image i;
    exec_ptx ptx;
    begin(&i);
    add(&i, MACHINE_CODE, 80, 0, "\177ELF", 4, 0);
    add(&i, PTX, 100, 0, text, sizeof text, 0);
    CHECK_FAILS(exec_fatbin_ptx(i.bytes, i.used, 90, &ptx), ASSAY_ERR_UNSUPPORTED,
                "it holds: sm_80 compute_100");
    CHECK(ptx.text == NULL);
}

/* Every length that cuts the image off is told, and nothing behind it is read: each try has memory
 * of its own, which AddressSanitizer guards. */
ASSAY_TEST(exec_fatbin, tells_every_cut, "unit") {
    image i;
    exec_ptx ptx;
    begin(&i);
    add(&i, MACHINE_CODE, 80, 0, "\177ELF", 4, 0);
    add(&i, PTX, 80, 0, text, sizeof text, 0);
    for (size_t room = 0; room < i.used; ++room) {
        char *cut = malloc(room > 0 ? room : 1);
        REQUIRE(cut != NULL);
        memcpy(cut, i.bytes, room);
        CHECK_MSG(exec_fatbin_ptx(cut, room, 90, &ptx) == ASSAY_ERR_FILE, "cut at %zu", room);
        free(cut);
    }
}

ASSAY_TEST(exec_fatbin, tells_sizes_that_make_no_sense, "unit") {
    exec_ptx ptx;
    image good, i;
    begin(&good);
    add(&good, PTX, 80, 0, text, sizeof text, 0);

    i = good;
    put(&i, 0, 0x464c457f, 4);
    CHECK_FAILS(exec_fatbin_ptx(i.bytes, i.used, 90, &ptx), ASSAY_ERR_FILE, "not a fat binary");
    i = good;
    put(&i, 6, 4, 2);
    CHECK_FAILS(exec_fatbin_ptx(i.bytes, i.used, 90, &ptx), ASSAY_ERR_FILE, "promises more");
    i = good;
    put(&i, 16 + 4, 8, 4);
    CHECK_FAILS(exec_fatbin_ptx(i.bytes, i.used, 90, &ptx), ASSAY_ERR_FILE, "longer than");
    i = good;
    put(&i, 16 + 8, UINT64_MAX - 8, 8);
    CHECK_FAILS(exec_fatbin_ptx(i.bytes, i.used, 90, &ptx), ASSAY_ERR_FILE, "longer than");
    i = good;
    put(&i, 16 + 40, ZSTD, 8);
    put(&i, 16 + 56, UINT64_MAX, 8);
    CHECK_FAILS(exec_fatbin_ptx(i.bytes, i.used, 90, &ptx), ASSAY_ERR_FILE, "makes no sense");
    i = good;
    put(&i, 16 + 16, 100000, 4);
    put(&i, 16 + 40, ZSTD, 8);
    put(&i, 16 + 56, 100, 8);
    CHECK_FAILS(exec_fatbin_ptx(i.bytes, i.used, 90, &ptx), ASSAY_ERR_FILE, "makes no sense");
}
