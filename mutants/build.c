#include "mutants/build.h"
#include "mutants/build_words.h"
#include "mutants/source.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 1024 };

/* ---- folders ---- */

static assay_status open_level(builder *b, build_level level, const char *folder) {
    char path[PATH_SIZE];
    if (!folder)
        return ASSAY_OK;
    snprintf(b->folder[level], BUILD_FOLDER, "%s", folder);
    snprintf(path, sizeof path, "%s/compile_commands.json", folder);
    return source_read(path, &b->commands[level]);
}

static bool has_recorder(const char *build) {
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/engine/assay_recorded_guest", build);
    return access(path, X_OK) == 0;
}

assay_status builder_init(builder *b, const char *root, const char *build, const char *asan) {
    const char *parent = getenv("TMPDIR");
    *b = (builder){.root = root};
    (void)setenv("LC_ALL", "C", 1); /* compilers' errors in plain letters */
    assay_status status = open_level(b, BUILD_QUICK, build);
    if (status == ASSAY_OK)
        status = open_level(b, BUILD_FULL, build);
    if (status == ASSAY_OK)
        status = open_level(b, BUILD_ASAN, asan);
    if (status == ASSAY_OK)
        status = open_level(b, BUILD_RACE, has_recorder(build) ? build : NULL);
    snprintf(b->work, sizeof b->work, "%.400s/assay-mutants-XXXXXX", parent ? parent : "/tmp");
    if (status == ASSAY_OK && !mkdtemp(b->work))
        status = assay_fail(ASSAY_ERR_FILE, "%s: %s", b->work, strerror(errno));
    if (status != ASSAY_OK)
        b->work[0] = '\0';
    return status;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where) {
    (void)info;
    (void)kind;
    (void)where;
    return remove(path);
}

void builder_clear(builder *b) {
    enum { FILES = 16 };
    if (b->work[0])
        (void)nftw(b->work, remove_one, FILES, FTW_DEPTH | FTW_PHYS);
    for (int i = 0; i < BUILD_LEVELS; ++i)
        free(b->commands[i]);
    *b = (builder){0};
}

bool builder_has(const builder *b, build_level level) {
    return b->commands[level] != NULL;
}

void builder_guest(const builder *b, build_level level, char path[BUILD_FOLDER + 32]) {
    snprintf(path, BUILD_FOLDER + 32, "%s/engine/%s", b->folder[level],
             level == BUILD_RACE ? "assay_recorded_guest" : "assay_guest");
}

bool builder_has_unit(const builder *b) {
    char path[BUILD_FOLDER + 32];
    builder_unit(b, path);
    return access(path, X_OK) == 0;
}

void builder_unit(const builder *b, char path[BUILD_FOLDER + 32]) {
    snprintf(path, BUILD_FOLDER + 32, "%s/tests/assay_unit", b->folder[BUILD_QUICK]);
}

/* ---- the command ---- */

/* A CUDA file, and the one with which the build compiles it for the simulated device. */
typedef struct cuda_file {
    char path[256]; /* from the tree's root */
    char wrapper[256];
} cuda_file;

static cuda_file variant_file(build_level level, const char *op, const char *variant) {
    cuda_file f;
    snprintf(f.path, sizeof f.path, "kernels/%s/%s.cu", op, variant);
    snprintf(f.wrapper, sizeof f.wrapper, "%s/%s_%s.cpp", level == BUILD_RACE ? "recorded" : "sim",
             op, variant);
    return f;
}

static cuda_file test_file(const char *name) {
    cuda_file f;
    snprintf(f.path, sizeof f.path, "tests/sim/%s.cu", name);
    snprintf(f.wrapper, sizeof f.wrapper, "sim/%s.cpp", name);
    return f;
}

/* The options are those of all kernels. Every build compiles this one, if ASSAY_KERNELS_FROM no
 * other than v1. */
static const char any_wrapper[] = "sim/weighted_sum_v1.cpp";

/* `overlay`: where headers are looked for first; NULL: nowhere. */
static assay_status add_options(const builder *b, build_level level, const cuda_file *f,
                                const char *overlay, command *to) {
    char first[PATH_SIZE];
    command all = {0};
    const assay_status status =
        command_find(&all, b->commands[level], level == BUILD_ASAN ? any_wrapper : f->wrapper);
    for (int32_t i = 0; status == ASSAY_OK && i < all.count; ++i) {
        if (strcmp(all.word[i], "-o") == 0 || strcmp(all.word[i], "-c") == 0)
            ++i; /* with its file */
        else if (i > 0 && !build_keeps(all.word[i], level))
            continue;
        else if (to->count > 0 || !build_is_launcher(all.word[i]))
            command_add(to, all.word[i]);
        if (to->count == 1 && overlay) {
            snprintf(first, sizeof first, "-I%s", overlay);
            command_add(to, first);
        }
    }
    command_clear(&all);
    return status;
}

/* Compiling is most of a mutant's cost; inlining by force, and optimising code that runs once, are
 * most of that. NULL: as the build does it, so that the same code can be recognised. The race
 * recorder sees a store of a small structure only where it has been taken apart into numbers. */
static const char *const optimisation[BUILD_LEVELS] = {
    [BUILD_QUICK] = "-O0", [BUILD_FULL] = NULL, [BUILD_ASAN] = "-O0", [BUILD_RACE] = "-Og"};

/* clang has no unique symbols, and refuses the word. */
static bool is_clang(const command *c) {
    return c->count > 0 && strstr(c->word[0], "clang") != NULL;
}

/* Position independent, and bound to itself: the program that loads it holds the right kernels,
 * whose inline functions have the same names. */
static void add_ours(build_level level, command *to) {
    static const char *const always[] = {"-w", "-fPIC",
                                         "-DASSAY_SHARED_SECTION=\".assay.shared.mutant\""};
    static const char *const gnu[] = {"-fno-gnu-unique", "-frandom-seed=0"};
    for (size_t i = 0; i < sizeof always / sizeof *always; ++i)
        command_add(to, always[i]);
    for (size_t i = 0; !is_clang(to) && i < sizeof gnu / sizeof *gnu; ++i)
        command_add(to, gnu[i]);
    if (optimisation[level]) {
        command_add(to, optimisation[level]);
        command_add(to, "-Dalways_inline=unused");
        command_add(to, "-DASSAY_SHARED_BUDGET=8192"); /* small sizes then exceed every tile */
    }
}

/* ---- the beginning of all files ---- */

/* Only quick builds have it compiled beforehand, under a name of its own: another compiler would
 * stumble over the result. */
static void prefix_path(const builder *b, build_level level, char path[PATH_SIZE]) {
    snprintf(path, PATH_SIZE, "%s/%s.h", b->work, level == BUILD_QUICK ? "quick" : "prefix");
}

static assay_status write_prefix(const builder *b, build_level level, char path[PATH_SIZE]) {
    prefix_path(b, level, path);
    FILE *file = fopen(path, "w");
    if (!file)
        return assay_fail(ASSAY_ERR_FILE, "%s: %s", path, strerror(errno));
    fputs("#include \"device/kernel.h\"\n#include \"mutants/injected.h\"\n", file);
    return fclose(file) == 0 ? ASSAY_OK
                             : assay_fail(ASSAY_ERR_FILE, "%s: %s", path, strerror(errno));
}

/* Any variant's words do: the options are those of all. */
assay_status builder_prepare(builder *b) {
    char prefix[PATH_SIZE], compiled[PATH_SIZE + 8], log[PATH_SIZE];
    command c = {0};
    const cuda_file any = variant_file(BUILD_QUICK, "weighted_sum", "v1");
    assay_status status = write_prefix(b, BUILD_FULL, prefix);
    if (status == ASSAY_OK)
        status = write_prefix(b, BUILD_QUICK, prefix);
    if (status == ASSAY_OK)
        status = add_options(b, BUILD_QUICK, &any, NULL, &c);
    if (status == ASSAY_OK) {
        add_ours(BUILD_QUICK, &c);
        snprintf(compiled, sizeof compiled, "%s.gch", prefix);
        snprintf(log, sizeof log, "%s/prefix.log", b->work);
        const char *words[] = {"-x", "c++-header", prefix, "-o", compiled};
        for (size_t i = 0; i < sizeof words / sizeof *words; ++i)
            command_add(&c, words[i]);
        status = command_run(&c, log, BUILD_SECONDS);
    }
    command_clear(&c);
    return status;
}

/* ---- compiling ---- */

/* The overlay's, if it has one. */
static void find_file(const builder *b, const cuda_file *f, const char *overlay,
                      char path[PATH_SIZE]) {
    snprintf(path, PATH_SIZE, "%s/%s", overlay ? overlay : b->root, f->path);
    if (access(path, R_OK) != 0)
        snprintf(path, PATH_SIZE, "%s/%s", b->root, f->path);
}

static assay_status compile(const builder *b, build_level level, const cuda_file *f,
                            const char *overlay, const char *object, const char *log) {
    char file[PATH_SIZE], prefix[PATH_SIZE], map[2][PATH_SIZE + 32];
    command c = {0};
    assay_status status = add_options(b, level, f, overlay, &c);
    if (status == ASSAY_OK) {
        find_file(b, f, overlay, file);
        prefix_path(b, level, prefix);
        add_ours(level, &c);
        /* Launches know their file's name: the same for a mutant and for its original. */
        snprintf(map[0], sizeof map[0], "-ffile-prefix-map=%s/=", b->root);
        command_add(&c, map[0]);
        if (overlay) {
            snprintf(map[1], sizeof map[1], "-ffile-prefix-map=%s/=", overlay);
            command_add(&c, map[1]);
        }
        const char *words[] = {"-include", prefix, "-x", "c++", "-c", file, "-o", object};
        for (size_t i = 0; i < sizeof words / sizeof *words; ++i)
            command_add(&c, words[i]);
        status = command_run(&c, log, BUILD_SECONDS);
    }
    command_clear(&c);
    return status;
}

/* The race recorder takes the place of ThreadSanitizer's runtime, which must not come along, and of
 * the copies of structures that compilers leave to the library. */
static assay_status link_object(const builder *b, build_level level, const cuda_file *f,
                                const char *from, const char *object, const char *log) {
    command options = {0}, c = {0};
    assay_status status = add_options(b, level, f, NULL, &options);
    if (status == ASSAY_OK) {
        command_add(&c, options.word[0]);
        if (level == BUILD_ASAN)
            command_add(&c, "-fsanitize=address,undefined");
        if (level == BUILD_RACE)
            command_add(&c, "-Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset");
        const char *words[] = {"-shared", "-Wl,-Bsymbolic", from, "-o", object};
        for (size_t i = 0; i < sizeof words / sizeof *words; ++i)
            command_add(&c, words[i]);
        status = command_run(&c, log, BUILD_SECONDS);
    }
    command_clear(&options);
    command_clear(&c);
    return status;
}

static assay_status make_object(const builder *b, build_level level, const cuda_file *f,
                                const char *overlay, const char *object) {
    char part[PATH_SIZE], log[PATH_SIZE];
    snprintf(part, sizeof part, "%s.o", object);
    snprintf(log, sizeof log, "%s.log", object);
    assay_status status = compile(b, level, f, overlay, part, log);
    if (status == ASSAY_OK)
        status = link_object(b, level, f, part, object, log);
    return status;
}

assay_status builder_compile(const builder *b, build_level level, const char *op,
                             const char *variant, const char *overlay, const char *object) {
    const cuda_file f = variant_file(level, op, variant);
    return make_object(b, level, &f, overlay, object);
}

assay_status builder_compile_test(const builder *b, const char *name, const char *overlay,
                                  const char *object) {
    const cuda_file f = test_file(name);
    return make_object(b, BUILD_QUICK, &f, overlay, object);
}

/* ---- the same program ---- */

assay_status builder_same_code(const char *a, const char *b, bool *same) {
    char path[PATH_SIZE];
    const char *objects[2] = {a, b};
    char *bytes[2] = {NULL, NULL};
    size_t size[2] = {0, 0};
    assay_status status = ASSAY_OK;
    for (int i = 0; status == ASSAY_OK && i < 2; ++i) {
        snprintf(path, sizeof path, "%s.o", objects[i]);
        FILE *file = fopen(path, "r");
        FILE *memory = open_memstream(&bytes[i], &size[i]);
        for (int byte; file && memory && (byte = getc(file)) != EOF;)
            (void)putc(byte, memory);
        if (!file || !memory)
            status = assay_fail(ASSAY_ERR_FILE, "%s: %s", path, strerror(errno));
        if (memory && fclose(memory) != 0)
            status = assay_fail(ASSAY_ERR_MEMORY, "out of memory for %s", path);
        if (file)
            fclose(file);
    }
    *same = status == ASSAY_OK && size[0] == size[1] && memcmp(bytes[0], bytes[1], size[0]) == 0;
    free(bytes[0]);
    free(bytes[1]);
    return status;
}
