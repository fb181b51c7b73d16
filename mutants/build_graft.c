/* builder_graft(): an operator's oracle as a shared object. */
#include "mutants/build_words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = 1024 };

/* One C file, compiled as the build does, but without optimisation. */
static assay_status compile_c(const builder *b, const char *path, const char *root,
                              const char *definition, const char *words_of, const char *object) {
    char file[PATH_SIZE], log[PATH_SIZE];
    command all = {0}, c = {0};
    snprintf(file, sizeof file, "%s/%s", root, path);
    snprintf(log, sizeof log, "%s.log", object);
    assay_status status = command_find(&all, b->commands[BUILD_QUICK], words_of);
    for (int32_t i = 0; status == ASSAY_OK && i < all.count; ++i) {
        if (strcmp(all.word[i], "-o") == 0 || strcmp(all.word[i], "-c") == 0)
            ++i; /* with its file */
        else if ((c.count > 0 && build_keeps(all.word[i], BUILD_QUICK)) ||
                 (c.count == 0 && !build_is_launcher(all.word[i])))
            command_add(&c, all.word[i]);
    }
    /* C accepts some code with a warning that C++ refuses: such a mutant is no program. */
    const char *words[] = {"-O0",
                           "-w",
                           "-fPIC",
                           "-Werror=implicit-function-declaration",
                           "-Werror=incompatible-pointer-types",
                           "-Werror=int-conversion",
                           definition,
                           "-c",
                           file,
                           "-o",
                           object};
    for (size_t i = 0; i < sizeof words / sizeof *words; ++i)
        command_add(&c, words[i]);
    if (status == ASSAY_OK)
        status = command_run(&c, log, BUILD_SECONDS);
    command_clear(&all);
    command_clear(&c);
    return status;
}

/* Where the object of an unchanged file is kept; made when first needed. */
static assay_status keep_object(const builder *b, const char *path, const char *definition,
                                const char *words_of, const char *name, const char *place,
                                char object[PATH_SIZE]) {
    char mine[PATH_SIZE];
    snprintf(object, PATH_SIZE, "%s/%s.o", b->work, name);
    if (access(object, R_OK) == 0)
        return ASSAY_OK;
    snprintf(mine, sizeof mine, "%s/kept.o", place);
    const assay_status status = compile_c(b, path, b->root, definition, words_of, mine);
    if (status != ASSAY_OK)
        return assay_fail(ASSAY_ERR_FILE, "the unchanged %s: %s", path, assay_error());
    return rename(mine, object) == 0
               ? ASSAY_OK
               : assay_fail(ASSAY_ERR_FILE, "%s: %s", object, strerror(errno));
}

static const char *file_name(const char *path) {
    return strrchr(path, '/') + 1;
}

assay_status builder_graft(const builder *b, const char *op, const char *const *paths,
                           int32_t n_paths, const char *path, const char *overlay,
                           const char *place, const char *object) {
    char part[PATH_SIZE], definition[96], name[96], log[PATH_SIZE];
    command c = {0}, link = {0};
    snprintf(definition, sizeof definition, "-DGRAFT_OP=assay_op_%.48s", op);
    snprintf(name, sizeof name, "graft_%.48s", op);
    snprintf(log, sizeof log, "%s.log", object);
    assay_status status = command_find(&c, b->commands[BUILD_QUICK], file_name(paths[0]));
    for (int32_t i = 0; status == ASSAY_OK && link.count == 0 && i < c.count; ++i)
        if (!build_is_launcher(c.word[i]))
            command_add(&link, c.word[i]);
    command_add(&link, "-shared");
    command_add(&link, "-Wl,-Bsymbolic");
    if (status == ASSAY_OK)
        status =
            keep_object(b, "mutants/graft.c", definition, file_name(paths[0]), name, place, part);
    command_add(&link, part);
    for (int32_t i = 0; i < n_paths && status == ASSAY_OK; ++i) {
        if (overlay && strcmp(paths[i], path) == 0) {
            snprintf(part, sizeof part, "%s/changed.o", place);
            status = compile_c(b, path, overlay, "-DNDEBUG", file_name(path), part);
        } else {
            status = keep_object(b, paths[i], "-DNDEBUG", file_name(paths[i]), file_name(paths[i]),
                                 place, part);
        }
        command_add(&link, part);
    }
    command_add(&link, "-o");
    command_add(&link, object);
    if (status == ASSAY_OK)
        status = command_run(&link, log, BUILD_SECONDS);
    command_clear(&c);
    command_clear(&link);
    return status;
}
