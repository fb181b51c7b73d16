/* Compiled kernels: the cache, and what goes wrong with it and with the compiler. */
#include "sim/ptx/launch.h"
#include "tests/shim/assay_test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                           ".visible .entry k(.param .u64 out) {\n"
                           ".reg .b64 %rd; ld.param.u64 %rd, [out];\n"
                           "st.global.u32 [%rd], 42;\nret;\n}\n";

/* Compiles and runs it, by a module of its own. */
static assay_status run(uint32_t *out) {
    const uint32_t one[] = {1, 1, 1};
    ptx_module *module;
    *out = 0;
    REQUIRE_OK(ptx_module_load(text, sizeof text - 1, "k.ptx", &module));
    const assay_status status =
        ptx_launch(ptx_module_kernel(module, 0), one, one, one, 0, &(void *){out});
    ptx_module_free(module);
    return status;
}

/* The path of the only file in a folder; "": there is none, or more than one. */
static const char *only_file(const char *folder) {
    static char path[1024];
    DIR *open = opendir(folder);
    int32_t n = 0;
    path[0] = '\0';
    for (struct dirent *e; open != NULL && (e = readdir(open)) != NULL;)
        if (e->d_name[0] != '.' && n++ == 0)
            snprintf(path, sizeof path, "%.500s/%.255s", folder, e->d_name);
    if (open != NULL)
        closedir(open);
    return n == 1 ? path : "";
}

static void make_folder(char folder[64]) {
    snprintf(folder, 64, "/tmp/assay-ptx-test-XXXXXX");
    REQUIRE(mkdtemp(folder) != NULL);
    REQUIRE(setenv("XDG_CACHE_HOME", folder, 1) == 0);
}

static void remove_folder(const char *folder) {
    char inner[128];
    snprintf(inner, sizeof inner, "%s/assay/ptx", folder);
    const char *file = only_file(inner);
    if (file[0] != '\0')
        unlink(file);
    rmdir(inner);
    snprintf(inner, sizeof inner, "%s/assay", folder);
    rmdir(inner);
    rmdir(folder);
    unsetenv("XDG_CACHE_HOME");
}

ASSAY_TEST(ptx, a_compiled_kernel_is_kept_and_a_damaged_one_made_again, "unit sim") {
    char folder[64], inner[128];
    struct stat first, again;
    uint32_t out;
    make_folder(folder);
    snprintf(inner, sizeof inner, "%s/assay/ptx", folder);
    REQUIRE_OK(run(&out));
    CHECK(out == 42);
    const char *file = only_file(inner);
    REQUIRE(stat(file, &first) == 0);
    REQUIRE_OK(run(&out));
    REQUIRE(stat(only_file(inner), &again) == 0);
    CHECK(out == 42 && first.st_ino == again.st_ino);
    for (int damage = 0; damage < 2; ++damage) {
        FILE *open = fopen(file, "r+b");
        REQUIRE(open != NULL);
        if (damage == 0)
            REQUIRE(ftruncate(fileno(open), first.st_size / 2) == 0);
        else
            REQUIRE(fseek(open, 4096, SEEK_SET) == 0 && fputs("other code", open) >= 0);
        fclose(open);
        REQUIRE_OK(run(&out));
        REQUIRE(stat(only_file(inner), &again) == 0);
        CHECK(out == 42 && again.st_size == first.st_size);
    }
    remove_folder(folder);
}

ASSAY_TEST(ptx, without_a_place_for_the_cache_kernels_still_run, "unit sim") {
    uint32_t out;
    REQUIRE(setenv("XDG_CACHE_HOME", "/proc/none", 1) == 0);
    REQUIRE_OK(run(&out));
    CHECK(out == 42);
    REQUIRE(setenv("TMPDIR", "/proc/none", 1) == 0);
    CHECK_FAILS(run(&out), ASSAY_ERR_FILE, "cannot store compiled kernels");
    unsetenv("TMPDIR");
    unsetenv("XDG_CACHE_HOME");
}

ASSAY_TEST(ptx, a_compiler_that_is_missing_or_fails_gets_a_line, "unit sim") {
    char folder[64], script[128];
    uint32_t out;
    make_folder(folder);
    REQUIRE(setenv("ASSAY_CC", "/nonexistent/cc", 1) == 0);
    CHECK_FAILS(run(&out), ASSAY_ERR_UNSUPPORTED,
                "kernels from PTX need a C compiler, and /nonexistent/cc does not run: install gcc "
                "or clang, or name one with ASSAY_CC");
    snprintf(script, sizeof script, "%s/cc", folder);
    FILE *file = fopen(script, "w");
    REQUIRE(file != NULL);
    fputs("#!/bin/sh\n[ $1 = --version ] && echo cc 1.0 && exit\necho no registers left\nexit 1\n",
          file);
    fclose(file);
    REQUIRE(chmod(script, S_IRWXU) == 0);
    REQUIRE(setenv("ASSAY_CC", script, 1) == 0);
    CHECK_FAILS(run(&out), ASSAY_ERR_UNSUPPORTED, "cc failed on its C code: no registers left");
    unlink(script);
    unsetenv("ASSAY_CC");
    remove_folder(folder);
}
