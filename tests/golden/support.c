#include "tests/golden/support.h"
#include "tests/shim/assay_test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void golden_folder_init(golden_folder *folder) {
    const char *parent = getenv("TMPDIR");
    snprintf(folder->path, sizeof folder->path, "%s/assay-golden-XXXXXX",
             parent != NULL && *parent != '\0' ? parent : P_tmpdir);
    REQUIRE(mkdtemp(folder->path) != NULL);
    snprintf(folder->file, sizeof folder->file, "%s/case.h5", folder->path);
}

/* Calls unlink for each file when `remove` says so. */
static int walk(const golden_folder *folder, bool remove) {
    int count = 0;
    DIR *directory = opendir(folder->path);
    REQUIRE(directory != NULL);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        ++count;
        if (remove)
            unlinkat(dirfd(directory), entry->d_name, 0);
    }
    closedir(directory);
    return count;
}

int golden_folder_count(const golden_folder *folder) {
    return walk(folder, false);
}

void golden_folder_clear(golden_folder *folder) {
    walk(folder, true);
    CHECK(rmdir(folder->path) == 0);
}

golden_bytes golden_bytes_read(const char *path) {
    golden_bytes bytes = {0};
    FILE *from = fopen(path, "rb");
    REQUIRE_MSG(from != NULL, "%s cannot be opened", path);
    REQUIRE(fseek(from, 0, SEEK_END) == 0);
    bytes.size = (size_t)ftell(from);
    rewind(from);
    bytes.data = malloc(bytes.size + 1);
    REQUIRE(bytes.data != NULL);
    REQUIRE(fread(bytes.data, 1, bytes.size, from) == bytes.size);
    fclose(from);
    return bytes;
}

void golden_bytes_write(const char *path, const unsigned char *data, size_t size) {
    FILE *to = fopen(path, "wb");
    REQUIRE_MSG(to != NULL, "%s cannot be opened", path);
    REQUIRE(fwrite(data, 1, size, to) == size);
    REQUIRE(fclose(to) == 0);
}

bool golden_bytes_equal(const golden_bytes *a, const golden_bytes *b) {
    return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

assay_case golden_case(const char *text) {
    assay_case c;
    REQUIRE_OK(assay_case_parse(text, &c));
    return c;
}

void golden_sample_init(golden_sample *sample, const char *text) {
    const assay_case c = golden_case(text);
    REQUIRE_OK(assay_problem_init(&sample->problem, &c));
    REQUIRE_OK(assay_reference_init(&sample->reference, &sample->problem));
}

void golden_sample_clear(golden_sample *sample) {
    assay_reference_clear(&sample->reference);
    assay_problem_clear(&sample->problem);
}

void golden_write_text(const char *path, const char *text) {
    golden_sample sample;
    golden_sample_init(&sample, text);
    REQUIRE_OK(assay_golden_write(path, &sample.problem, &sample.reference));
    golden_sample_clear(&sample);
}
