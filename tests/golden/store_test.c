/* Writing golden files and reading them again. */
#include "tests/golden/support.h"
#include "tests/shim/assay_test.h"

#include "assay/compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SMALL "kronecker b=3 f=2x3 q=4x1 dtype=f32 seed=5"
#define OTHER "kronecker b=2 f=3 layers=2 dtype=f64 fill=uniform seed=7"
#define THIRD "kronecker b=1 f=5 dtype=f64 seed=0"

static bool same_arrays(const assay_arrays *a, const assay_arrays *b) {
    if (a->count != b->count)
        return false;
    for (int32_t i = 0; i < a->count; ++i) {
        if (a->size[i] != b->size[i] || (a->data[i] == NULL) != (b->data[i] == NULL))
            return false;
        if (a->data[i] != NULL &&
            memcmp(a->data[i], b->data[i], (size_t)a->size[i] * sizeof(double)) != 0)
            return false;
    }
    return true;
}

static void check_same(const char *path, const char *asked, const char *text) {
    golden_sample sample;
    assay_golden golden;
    char stored[ASSAY_CASE_TEXT];
    const assay_case c = golden_case(asked);
    golden_sample_init(&sample, text);
    REQUIRE_OK(assay_golden_read(path, &c, &golden));
    CHECK_STREQ(assay_case_format(&golden.problem.c, stored), text);
    CHECK(same_arrays(&golden.problem.in, &sample.problem.in));
    CHECK(same_arrays(&golden.problem.cot, &sample.problem.cot));
    CHECK(same_arrays(&golden.want.out, &sample.reference.want.out));
    CHECK(same_arrays(&golden.want.grad, &sample.reference.want.grad));
    CHECK(!golden.foreign);
    CHECK_MSG(strstr(golden.source, "assay") != NULL, "source is '%s'", golden.source);
    assay_golden_clear(&golden);
    golden_sample_clear(&sample);
}

ASSAY_TEST(golden_store, round_trip, "unit golden") {
    static const char *const texts[] = {
        SMALL,
        OTHER,
        "weighted_sum n=none d=4 dtype=f64 seed=1", /* y is a scalar */
        "weighted_sum n=2x0 d=4 dtype=f32 seed=1",  /* x and y are empty */
        "weighted_sum n=3x5 d=7 dtype=bf16 fill=exact seed=18446744073709551615",
        "softmax n=3 d=7 dtype=bf16 fill=nan seed=1", /* answers and bounds are NaN, too */
        "matmul_accumulate m=3 n=4 k=5 dtype=f16 fill=inf seed=2",
    };
    golden_folder folder;
    golden_folder_init(&folder);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i)
        golden_write_text(folder.file, texts[i]);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i)
        check_same(folder.file, texts[i], texts[i]);
    CHECK(golden_folder_count(&folder) == 1);
    golden_folder_clear(&folder);
}

ASSAY_TEST(golden_store, layout_and_schedule_are_the_askers, "unit golden") {
    golden_folder folder;
    golden_folder_init(&folder);
    golden_write_text(folder.file, "kronecker b=3 f=2x3 q=4x1 pad=3 sched=random seed=5");
    check_same(folder.file, "kronecker b=3 f=2x3 q=4x1 misalign=1 sched=warp seed=5", SMALL);
    golden_folder_clear(&folder);
}

typedef struct list {
    char text[8][ASSAY_CASE_TEXT];
    int count;
} list;

static assay_status note(const char *text, const char *source, bool foreign, void *context) {
    list *l = context;
    (void)source;
    CHECK(!foreign);
    REQUIRE(l->count < 8);
    snprintf(l->text[l->count++], ASSAY_CASE_TEXT, "%s", text);
    return ASSAY_OK;
}

static assay_status refuse(const char *text, const char *source, bool foreign, void *context) {
    (void)source;
    (void)foreign;
    (void)context;
    return assay_fail(ASSAY_ERR_UNSUPPORTED, "refused %s", text);
}

ASSAY_TEST(golden_store, visits_in_the_order_of_names, "unit golden") {
    golden_folder folder;
    list seen = {.count = 0};
    golden_folder_init(&folder);
    golden_write_text(folder.file, SMALL);
    golden_write_text(folder.file, THIRD);
    golden_write_text(folder.file, OTHER);
    REQUIRE_OK(assay_golden_visit(folder.file, note, &seen));
    REQUIRE(seen.count == 3);
    CHECK_STREQ(seen.text[0], THIRD);
    CHECK_STREQ(seen.text[1], OTHER);
    CHECK_STREQ(seen.text[2], SMALL);
    CHECK_FAILS(assay_golden_visit(folder.file, refuse, NULL), ASSAY_ERR_UNSUPPORTED,
                "refused " THIRD);
    golden_folder_clear(&folder);
}

/* Over more than a second: HDF5's own times would differ. And whatever the order of writing. */
ASSAY_TEST(golden_store, regenerating_gives_the_same_bytes, "unit golden") {
    golden_folder folder;
    golden_folder_init(&folder);
    golden_write_text(folder.file, SMALL);
    golden_write_text(folder.file, OTHER);
    golden_bytes before = golden_bytes_read(folder.file);
    sleep(1);
    golden_write_text(folder.file, SMALL);
    golden_bytes again = golden_bytes_read(folder.file);
    CHECK(golden_bytes_equal(&before, &again));
    REQUIRE(unlink(folder.file) == 0);
    golden_write_text(folder.file, OTHER);
    golden_write_text(folder.file, SMALL);
    golden_bytes other_order = golden_bytes_read(folder.file);
    CHECK(golden_bytes_equal(&before, &other_order));
    free(before.data);
    free(again.data);
    free(other_order.data);
    golden_folder_clear(&folder);
}

/* ---- replacing ---- */

/* The call that just failed left the file as it was, and nothing beside it. */
static void check_untouched(const golden_folder *folder, const golden_bytes *before) {
    golden_bytes now = golden_bytes_read(folder->file);
    CHECK(golden_bytes_equal(before, &now));
    CHECK(golden_folder_count(folder) == 1);
    free(now.data);
}

ASSAY_TEST(golden_store, a_value_outside_the_dtype_is_not_written, "unit golden") {
    golden_folder folder;
    golden_sample sample;
    golden_folder_init(&folder);
    golden_write_text(folder.file, THIRD);
    golden_bytes before = golden_bytes_read(folder.file);
    golden_sample_init(&sample, SMALL);
    sample.problem.in.data[0][1] = 0.1;
    CHECK_FAILS(assay_golden_write(folder.file, &sample.problem, &sample.reference), ASSAY_ERR_FILE,
                "is no value of f32");
    check_untouched(&folder, &before);
    golden_sample_clear(&sample);
    free(before.data);
    golden_folder_clear(&folder);
}

ASSAY_TEST(golden_store, a_negative_bound_is_not_written, "unit golden") {
    golden_folder folder;
    golden_sample sample;
    golden_folder_init(&folder);
    golden_sample_init(&sample, SMALL);
    sample.reference.grad_bound.element.data[1][0] = -1e-3;
    CHECK_FAILS(assay_golden_write(folder.file, &sample.problem, &sample.reference), ASSAY_ERR_FILE,
                SMALL "/bound/dw1_2: element 0, -0.001, is no bound");
    CHECK(golden_folder_count(&folder) == 0);
    golden_sample_clear(&sample);
    golden_folder_clear(&folder);
}

ASSAY_TEST(golden_store, a_damaged_file_is_not_replaced, "unit golden") {
    golden_folder folder;
    golden_sample sample;
    golden_folder_init(&folder);
    golden_write_text(folder.file, THIRD);
    golden_bytes damaged = golden_bytes_read(folder.file);
    golden_bytes_write(folder.file, damaged.data, damaged.size / 2);
    damaged.size /= 2;
    golden_sample_init(&sample, SMALL);
    CHECK_FAILS(assay_golden_write(folder.file, &sample.problem, &sample.reference), ASSAY_ERR_FILE,
                "restore it from version control");
    check_untouched(&folder, &damaged);
    golden_sample_clear(&sample);
    free(damaged.data);
    golden_folder_clear(&folder);
}

ASSAY_TEST(golden_store, a_folder_that_cannot_be_written_is_one_line, "unit golden") {
    golden_sample sample;
    golden_sample_init(&sample, SMALL);
    CHECK_FAILS(assay_golden_write("/proc/case.h5", &sample.problem, &sample.reference),
                ASSAY_ERR_FILE, "/proc/case.h5: cannot be written: ");
    CHECK(strchr(assay_error(), '\n') == NULL);
    golden_sample_clear(&sample);
}

ASSAY_TEST(golden_store, permissions_stay, "unit golden") {
    golden_folder folder;
    struct stat info;
    golden_folder_init(&folder);
    const mode_t mask = umask(0027);
    golden_write_text(folder.file, SMALL);
    umask(mask);
    REQUIRE(stat(folder.file, &info) == 0);
    CHECK_MSG((info.st_mode & 0777) == 0640, "mode %o, not 640", (unsigned)info.st_mode);
    REQUIRE(chmod(folder.file, 0604) == 0);
    golden_write_text(folder.file, OTHER);
    REQUIRE(stat(folder.file, &info) == 0);
    CHECK_MSG((info.st_mode & 0777) == 0604, "mode %o, not 604", (unsigned)info.st_mode);
    golden_folder_clear(&folder);
}

/* ---- the files that are there ---- */

#define PUBLISHED "kronecker b=16 f=32x32 layers=2 dtype=f64 fill=golden seed=0"

static void published_path(char path[4096]) {
    const assay_case c = golden_case(PUBLISHED);
    REQUIRE_OK(assay_golden_path(c.op, path, 4096));
}

static void check_norm(const assay_arrays *arrays, const char *want) {
    char norm[32];
    snprintf(norm, sizeof norm, "%.15g", assay_norm2(arrays->data[0], arrays->size[0]));
    CHECK_STREQ(norm, want);
}

ASSAY_TEST(golden_store, published_norms, "golden kronecker") {
    assay_golden golden;
    char path[4096];
    const assay_case c = golden_case(PUBLISHED);
    published_path(path);
    REQUIRE_OK(assay_golden_read(path, &c, &golden));
    check_norm(&golden.want.out, "124.413394223061");
    check_norm(&golden.want.grad, "125.378340183383");
    CHECK(golden.foreign);
    CHECK_MSG(strstr(golden.source, "PyTorch") != NULL, "source is '%s'", golden.source);
    assay_golden_clear(&golden);
}

ASSAY_TEST(golden_store, a_foreign_case_is_not_replaced_by_our_own, "golden kronecker") {
    golden_folder folder;
    golden_sample sample;
    char path[4096];
    golden_folder_init(&folder);
    published_path(path);
    golden_bytes file = golden_bytes_read(path);
    golden_bytes_write(folder.file, file.data, file.size);
    golden_sample_init(&sample, "kronecker b=16 f=32x32 layers=2 dtype=f64 seed=0");
    sample.problem.c.fill = ASSAY_FILL_GOLDEN;
    CHECK_FAILS(assay_golden_write(folder.file, &sample.problem, &sample.reference),
                ASSAY_ERR_USAGE, "comes from another program");
    check_untouched(&folder, &file);
    golden_sample_clear(&sample);
    free(file.data);
    golden_folder_clear(&folder);
}

ASSAY_TEST(golden_store, the_directory_may_be_given, "unit golden") {
    char path[64];
    const assay_case c = golden_case(THIRD);
    REQUIRE(setenv("ASSAY_GOLDEN_DIR", "/somewhere", 1) == 0);
    REQUIRE_OK(assay_golden_path(c.op, path, sizeof path));
    CHECK_STREQ(path, "/somewhere/kronecker.h5");
    CHECK_FAILS(assay_golden_path(c.op, path, 10), ASSAY_ERR_FILE, "longer than 10 bytes");
    REQUIRE(unsetenv("ASSAY_GOLDEN_DIR") == 0);
}
