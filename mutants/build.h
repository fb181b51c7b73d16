/*
 * Compiling mutants: with the words with which the build itself compiles a variant for the
 * simulated device, taken from its compile_commands.json, so that AddressSanitizer and the race
 * recorder instrument mutants as they instrument kernels.
 */
#ifndef ASSAY_MUTANTS_BUILD_H
#define ASSAY_MUTANTS_BUILD_H

#include "assay/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum build_level {
    BUILD_QUICK, /* unoptimised: compiling takes longer than running */
    BUILD_FULL,  /* as the build compiles */
    BUILD_ASAN,  /* these two instrumented, and optimised as little as they bear */
    BUILD_RACE,
} build_level;
enum { BUILD_LEVELS = 4, BUILD_FOLDER = 512 };

typedef struct builder {
    const char *root;                        /* the source tree */
    char folder[BUILD_LEVELS][BUILD_FOLDER]; /* builds; "": there is none */
    char *commands[BUILD_LEVELS];            /* their compile_commands.json */
    char work[BUILD_FOLDER];                 /* everything that is written */
} builder;

/* `asan`: the folder of that build, NULL for none. The race recorder is a part of `build`, if that
 * has it. */
assay_status builder_init(builder *b, const char *root, const char *build,
                          const char *asan) ASSAY_MUST_CHECK;
/* Removes the files that it wrote. */
void builder_clear(builder *b);

bool builder_has(const builder *b, build_level level);
/* The program that runs variants of that build. */
void builder_guest(const builder *b, build_level level, char path[BUILD_FOLDER + 32]);

/* The program that runs a header's own tests, which are loaded before it; a build without tests
 * (-DASSAY_TESTS=OFF) does not have it. */
void builder_unit(const builder *b, char path[BUILD_FOLDER + 32]);
bool builder_has_unit(const builder *b);

/* Compiles the beginning of all quick builds, once; to be called before the first of them. */
assay_status builder_prepare(builder *b) ASSAY_MUST_CHECK;

/*
 * Compiles the variant's file as it is under `overlay`, or else in the tree; headers likewise.
 * Writes the shared object `object`. ASSAY_ERR_KERNEL: it is not a program.
 */
assay_status builder_compile(const builder *b, build_level level, const char *op,
                             const char *variant, const char *overlay,
                             const char *object) ASSAY_MUST_CHECK;

/* The same for a shared header's own test, tests/sim/<name>.cu, unoptimised. */
assay_status builder_compile_test(const builder *b, const char *name, const char *overlay,
                                  const char *object) ASSAY_MUST_CHECK;

/*
 * The same for an oracle: the mutated file `path` (from the tree's root) under `overlay`, with the
 * operator's other files and graft.c, as a shared object that a test program takes its oracle from.
 * `place`: a folder of the caller's own. NULL for the overlay: the oracle as it is.
 */
assay_status builder_graft(const builder *b, const char *op, const char *const *paths,
                           int32_t n_paths, const char *path, const char *overlay,
                           const char *place, const char *object) ASSAY_MUST_CHECK;

/* Whether two shared objects of one file hold the same program. */
assay_status builder_same_code(const char *a, const char *b, bool *same) ASSAY_MUST_CHECK;

#endif
