/* Programs as files, whole and damaged. */
#include "sim/exec/elf.h"

#include "tests/shim/assay_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ASSAY_TEST(exec_elf, this_program_has_a_loader_and_functions, "unit") {
    exec_elf elf;
    exec_function f;
    bool found = false;
    REQUIRE_OK(exec_elf_open("/proc/self/exe", &elf));
    CHECK(exec_elf_is_dynamic(&elf));
    CHECK(exec_elf_runtime(&elf) == 0);
    for (size_t i = 0; exec_elf_function(&elf, i, &f) && !found; ++i)
        found = f.name != NULL && strcmp(f.name, "exec_elf_open") == 0 && f.bytes > 0;
    CHECK(found);
    exec_elf_close(&elf);
}

ASSAY_TEST(exec_elf, what_is_no_program_is_refused, "unit") {
    exec_elf elf;
    CHECK(exec_elf_open("/no/such/file", &elf) == ASSAY_ERR_FILE);
    CHECK(exec_elf_open("/", &elf) == ASSAY_ERR_FILE);
    CHECK(exec_elf_open("/proc/self/exe/none", &elf) == ASSAY_ERR_FILE);
}

/* All that is read of a file, whose beginning is `bytes` of this program with some of them changed.
 */
static void read_all(const char *path, const char *from, size_t bytes) {
    exec_elf elf;
    exec_function f;
    size_t n;
    FILE *file = fopen(path, "wb");
    REQUIRE(file != NULL && fwrite(from, 1, bytes, file) == bytes);
    REQUIRE(fclose(file) == 0);
    if (exec_elf_open(path, &elf) != ASSAY_OK)
        return;
    (void)exec_elf_is_dynamic(&elf);
    (void)exec_elf_section(&elf, ".dynstr", &n);
    for (size_t i = 0; i < 100 && exec_elf_function(&elf, i, &f); ++i)
        n += f.name != NULL ? strlen(f.name) : 0;
    exec_elf_close(&elf);
}

ASSAY_TEST(exec_elf, a_damaged_file_is_read_within_its_bounds, "unit") {
    enum { HEADER = 64, MOST = 1 << 16 };
    char path[] = "/tmp/assay-elf-XXXXXX";
    const int made = mkstemp(path);
    char *begin = calloc(1, MOST);
    FILE *own = fopen("/proc/self/exe", "rb");
    REQUIRE(made >= 0 && begin != NULL && own != NULL);
    const size_t n = fread(begin, 1, MOST, own);
    for (size_t cut = 1; cut < n; cut = 2 * cut + 1)
        read_all(path, begin, cut);
    for (size_t i = 0; i < HEADER; ++i) { /* each byte of the header in turn */
        const char old = begin[i];
        begin[i] = (char)0xff;
        read_all(path, begin, n);
        begin[i] = 0;
        read_all(path, begin, n);
        begin[i] = old;
    }
    (void)fclose(own);
    free(begin);
    close(made);
    unlink(path);
}
