/* SHA256SUMS: what it shows that a golden file's own hashes cannot, and how writing keeps it true.
 */
#include "golden/manifest.h"
#include "tests/golden/support.h"
#include "tests/shim/assay_test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CASE       "weighted_sum n=1 d=2 dtype=f32 seed=0"
#define OTHER_CASE "weighted_sum n=1 d=2 dtype=f32 seed=1"

static void list_path(const golden_folder *folder, char path[GOLDEN_TEST_PATH + 16]) {
    snprintf(path, GOLDEN_TEST_PATH + 16, "%s/" GOLDEN_MANIFEST, folder->path);
}

static void put_list(const golden_folder *folder, const char *text) {
    char path[GOLDEN_TEST_PATH + 16];
    list_path(folder, path);
    golden_bytes_write(path, (const unsigned char *)text, strlen(text));
}

static void expect_list(const golden_folder *folder, const char *want) {
    char path[GOLDEN_TEST_PATH + 16];
    list_path(folder, path);
    golden_bytes bytes = golden_bytes_read(path);
    bytes.data[bytes.size] = '\0';
    CHECK_STREQ((char *)bytes.data, want);
    free(bytes.data);
}

/* Whether a file passes; it must be listed. */
static assay_status check(const char *path) {
    bool listed;
    const assay_status status = assay_golden_check_listed(path, &listed);
    CHECK(listed);
    return status;
}

ASSAY_TEST(manifest, every_committed_file_is_the_one_listed, "unit golden") {
    char path[4096];
    int files = 0;
    REQUIRE_OK(assay_golden_path(assay_op_at(0), path, sizeof path));
    *strrchr(path, '/') = '\0';
    DIR *directory = opendir(path);
    REQUIRE(directory != NULL);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char file[4096 + 300];
        const char *ending = strrchr(entry->d_name, '.');
        if (ending == NULL || strcmp(ending, ".h5") != 0)
            continue;
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        CHECK_MSG(check(file) == ASSAY_OK, "%s: %s", entry->d_name, assay_error());
        ++files;
    }
    closedir(directory);
    CHECK(files >= assay_op_count());
}

/* Another file, whole and with all of its own hashes right. */
ASSAY_TEST(manifest, a_file_that_was_hashed_again_is_noticed, "unit golden") {
    golden_folder folder;
    golden_folder_init(&folder);
    put_list(&folder, "");
    golden_write_text(folder.file, CASE);
    CHECK(check(folder.file) == ASSAY_OK);

    char elsewhere[GOLDEN_TEST_PATH + 32];
    snprintf(elsewhere, sizeof elsewhere, "%s/other.h5", folder.path);
    golden_write_text(elsewhere, OTHER_CASE);
    REQUIRE(rename(elsewhere, folder.file) == 0);
    CHECK_FAILS(check(folder.file), ASSAY_ERR_FILE, "not the file that SHA256SUMS lists");
    golden_folder_clear(&folder);
}

ASSAY_TEST(manifest, writing_keeps_the_list_true, "unit golden") {
    static const char zeros[] = "00000000000000000000000000000000"
                                "00000000000000000000000000000000";
    golden_folder folder;
    char text[512], want[1024], path[GOLDEN_TEST_PATH + 16];
    golden_folder_init(&folder);
    snprintf(text, sizeof text, "%s  a.h5\n%s  case.h5\n%s  case.h5a\n", zeros, zeros, zeros);
    put_list(&folder, text);
    golden_write_text(folder.file, CASE);
    CHECK(check(folder.file) == ASSAY_OK);
    list_path(&folder, path);
    golden_bytes bytes = golden_bytes_read(path);
    REQUIRE(bytes.size == strlen(text));
    const char *line = (const char *)bytes.data + 71;
    CHECK(strncmp(line, zeros, 64) != 0);
    snprintf(want, sizeof want, "%s  a.h5\n%.64s  case.h5\n%s  case.h5a\n", zeros, line, zeros);
    expect_list(&folder, want);
    free(bytes.data);

    put_list(&folder, ""); /* the only line */
    golden_write_text(folder.file, OTHER_CASE);
    CHECK(check(folder.file) == ASSAY_OK);
    golden_folder_clear(&folder);
}

ASSAY_TEST(manifest, without_a_list_none_is_made, "unit golden") {
    golden_folder folder;
    bool listed = true;
    golden_folder_init(&folder);
    golden_write_text(folder.file, CASE);
    CHECK(golden_folder_count(&folder) == 1);
    CHECK(assay_golden_check_listed(folder.file, &listed) == ASSAY_OK && !listed);
    golden_folder_clear(&folder);
}

ASSAY_TEST(manifest, a_list_that_cannot_be_read_is_an_error, "unit golden") {
    static const char *const texts[] = {
        "nonsense\n",
        "0000000000000000000000000000000000000000000000000000000000000000  case.h5", /* no end */
        "0000000000000000000000000000000000000000000000000000000000000000 *case.h5\n",
        "000000000000000000000000000000000000000000000000000000000000000G  case.h5\n",
        "0000000000000000000000000000000000000000000000000000000000000000  \n",
    };
    golden_folder folder;
    golden_folder_init(&folder);
    golden_write_text(folder.file, CASE);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        bool listed;
        put_list(&folder, texts[i]);
        CHECK_FAILS(assay_golden_check_listed(folder.file, &listed), ASSAY_ERR_FILE, "line 1");
        CHECK_FAILS(golden_manifest_update(folder.file), ASSAY_ERR_FILE, "line 1");
        expect_list(&folder, texts[i]);
    }
    golden_folder_clear(&folder);
}
