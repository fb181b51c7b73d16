/* A kernel file is what it was when it was opened: for its hash, and for the process that loads it.
 */
#include "engine/elf_file.h"
#include "engine/isolate.h"
#include "engine/kernel_file.h"
#include "engine/runner.h"
#include "engine/variant_run.h"
#include "tests/shim/assay_test.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void copy_file(const char *from, const char *to) {
    char command[2 * PATH_MAX + 16];
    snprintf(command, sizeof command, "cp '%s' '%s'", from, to);
    REQUIRE(system(command) == 0);
}

static assay_status run_once(const assay_device *device) {
    assay_case c;
    assay_problem p;
    assay_results got;
    REQUIRE_OK(assay_case_parse("weighted_sum n=2 d=3 dtype=f32 seed=0", &c));
    REQUIRE_OK(assay_problem_init(&p, &c));
    REQUIRE_OK(assay_results_init(&got, &p.sig));
    const assay_status status =
        assay_run(variant_find(device, "weighted_sum", "v1"), device, &p, &got);
    assay_results_clear(&got);
    assay_problem_clear(&p);
    return status;
}

/* In a folder of its own, without a slash in the name. */
ASSAY_TEST(kernel_file, what_is_hashed_is_what_is_loaded, "unit sim") {
    char folder[] = "/tmp/assay-kernel-XXXXXX", before[PATH_MAX], hash[HASH_TEXT];
    const assay_device *sim, *apart;
    REQUIRE(getcwd(before, sizeof before) && mkdtemp(folder) && chdir(folder) == 0);
    copy_file(ASSAY_EXPLOITS "/v1.so", "mine.so");
    REQUIRE_OK(hash_file("mine.so", hash));
    REQUIRE_OK(assay_device_open("sim", &sim));
    const assay_isolation how = {
        .kernel = "mine.so", .op = "weighted_sum", .variant = "v1", .seconds = 60, .gib = 8};
    REQUIRE_OK(assay_isolate(sim, &how, &apart));
    CHECK(strcmp(assay_isolated_kernel_hash(apart), hash) == 0);
    copy_file("/bin/true", "mine.so"); /* which is no kernel file */
    REQUIRE_OK(run_once(apart));
    CHECK(strcmp(assay_isolated_kernel_hash(apart), hash) == 0);
    assay_isolate_end(apart);
    CHECK_FAILS(assay_isolate(sim, &how, &apart), ASSAY_ERR_USAGE, "ASSAY_VARIANT names another");
    CHECK_FAILS(
        assay_isolate(
            sim, &(assay_isolation){.kernel = "/dev/null", .op = "weighted_sum", .variant = "v1"},
            &apart),
        ASSAY_ERR_FILE, "is no file");
    REQUIRE(mkfifo("pipe", 0600) == 0); /* without a writer: to wait for one would be for ever */
    kernel_file k;
    CHECK_FAILS(kernel_file_open(&k, "pipe"), ASSAY_ERR_FILE, "is no file");
    REQUIRE(unlink("pipe") == 0);
    REQUIRE(unlink("mine.so") == 0 && chdir(before) == 0 && rmdir(folder) == 0);
}

/* Whatever bytes it has. */
ASSAY_TEST(kernel_file, a_damaged_file_is_read_without_harm, "unit") {
    kernel_file k;
    REQUIRE_OK(kernel_file_open(&k, ASSAY_EXPLOITS "/state.so"));
    const kernel_part *own = &k.part[k.n_parts - 1];
    elf_dynamic d;
    elf_read_dynamic(own->image, own->bytes, &d);
    CHECK(d.n_needed > 0);
    char *image = malloc(own->bytes);
    REQUIRE(image != NULL);
    for (size_t cut = 0; cut < own->bytes; cut += 1 + cut / 8) {
        char *part = malloc(cut + 1); /* of that size, so that AddressSanitizer sees its end */
        memcpy(part, own->image, cut);
        elf_read_dynamic(part, cut, &d);
        free(part);
    }
    for (size_t i = 0; i < 4096 && i < own->bytes; ++i) {
        memcpy(image, own->image, own->bytes);
        image[i] = (char)0xff;
        elf_read_dynamic(image, own->bytes, &d);
        CHECK(d.n_needed >= 0 && d.n_needed <= ELF_NEEDED);
    }
    free(image);
    kernel_file_close(&k);
}
