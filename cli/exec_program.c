/* Facts about a program that are known before it runs. */
#include "cli/exec.h"
#include "sim/exec/elf.h"
#include "sim/exec/fatbin.h"
#include "sim/exec/module.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int refuse(int code, const char *format, ...) ASSAY_PRINTF(2, 3);
static int refuse(int code, const char *format, ...) {
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    (void)assay_fail(ASSAY_ERR_UNSUPPORTED, "%s", line);
    return code;
}

static bool is_there(const char *path) {
    return access(path, F_OK) == 0;
}

static bool on_path(const char *name, char path[PATH_MAX]) {
    const char *folders = getenv("PATH");
    for (const char *f = folders != NULL ? folders : "/usr/bin:/bin"; f != NULL;) {
        const size_t n = strcspn(f, ":");
        const int length = snprintf(path, PATH_MAX, "%.*s/%s", (int)n, n > 0 ? f : ".", name);
        if (length > 0 && length < PATH_MAX && access(path, X_OK) == 0)
            return true;
        f = f[n] == ':' ? f + n + 1 : NULL;
    }
    return false;
}

static int find(const char *name, char path[PATH_MAX]) {
    const bool has_folder = strchr(name, '/') != NULL;
    if (has_folder && snprintf(path, PATH_MAX, "%s", name) < PATH_MAX && is_there(path))
        return access(path, X_OK) == 0
                   ? 0
                   : refuse(EXEC_EXIT_CANNOT, "%s: it may not be run: %s", path, strerror(errno));
    if (!has_folder && on_path(name, path))
        return 0;
    return refuse(EXEC_EXIT_NO_PROGRAM, "%s: no such program%s", name,
                  !has_folder && is_there(name) ? "; did you mean ./ before it?" : "");
}

static bool is_script(const char *path) {
    char begin[2] = "";
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    const bool script = fread(begin, 1, 2, file) == 2 && memcmp(begin, "#!", 2) == 0;
    (void)fclose(file);
    return script;
}

/* A damaged image is the program's own affair, until it is used. */
static bool has_ptx(const exec_elf *elf, const char *section, bool *any) {
    size_t offset = 0, room;
    for (const void *image; (image = exec_elf_image(elf, section, &offset, &room)) != NULL;) {
        exec_ptx ptx;
        const assay_status status = exec_fatbin_ptx(image, room, EXEC_ARCHITECTURE, &ptx);
        free(ptx.text);
        if (status != ASSAY_ERR_UNSUPPORTED)
            return true;
        *any = true;
    }
    return false;
}

static int check_images(const char *path, const exec_elf *elf) {
    bool any = false;
    if (has_ptx(elf, EXEC_ELF_OBJECTS, &any) || has_ptx(elf, EXEC_ELF_IMAGES, &any) || !any)
        return 0;
    char why[512];
    snprintf(why, sizeof why, "%s", assay_error());
    return refuse(EXEC_EXIT_CANNOT, "%s: %s", path, why);
}

/* Whether a string table of the file has a string that begins so. */
static bool names(const exec_elf *elf, const char *table, const char *begin) {
    size_t bytes;
    const char *strings = exec_elf_section(elf, table, &bytes);
    for (size_t at = 0; strings != NULL && at < bytes; at += strnlen(strings + at, bytes - at) + 1)
        if (strncmp(strings + at, begin, strlen(begin)) == 0)
            return true;
    return false;
}

bool exec_program_needs(const char *path, const char *library) {
    exec_elf elf;
    if (exec_elf_open(path, &elf) != ASSAY_OK)
        return false;
    const bool needs = names(&elf, ".dynstr", library);
    exec_elf_close(&elf);
    return needs;
}

static int check_runtime(const char *path, const exec_elf *elf) {
    size_t bytes;
    const bool device_code = exec_elf_section(elf, ".nv_fatbin", &bytes) != NULL && bytes > 0;
    if (!device_code || exec_elf_runtime(elf) > 0 || names(elf, ".dynstr", "libcudart.so") ||
        names(elf, ".dynstr", "libcuda.so"))
        return 0;
    return refuse(EXEC_EXIT_CANNOT,
                  "%s: its symbol table has been stripped, and with it the names of CUDA's "
                  "static runtime; build it without -s, or with nvcc -cudart shared",
                  path);
}

static int check_file(const char *path) {
    exec_elf elf;
    if (exec_elf_open(path, &elf) != ASSAY_OK)
        return is_script(path) ? refuse(EXEC_EXIT_CANNOT,
                                        "%s: a script, no program; name its interpreter before it, "
                                        "such as bash or python3",
                                        path)
                               : EXEC_EXIT_CANNOT;
    int code = 0;
    if (!exec_elf_is_dynamic(&elf))
        code = refuse(EXEC_EXIT_CANNOT,
                      "%s: linked without shared libraries, so none can stand in for CUDA's; link "
                      "it without -static",
                      path);
    if (code == 0)
        code = check_runtime(path, &elf);
    if (code == 0)
        code = check_images(path, &elf);
    exec_elf_close(&elf);
    return code;
}

int exec_program_check(const char *name, char path[PATH_MAX]) {
    const int code = find(name, path);
    return code == 0 ? check_file(path) : code;
}
