/*
 * assay new operator NAME: a folder with an operator to begin with, which builds and passes. Its
 * files are those of examples/operator, with the name in the place of theirs.
 */
#include "cli/operator.h"
#include "cli/text_file.h"
#include "core/place.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 1 << 20, LONGEST_NAME = 31 };

static const char example[] = "softmin";
static const char *const files[] = {"softmin.c", "v1.cu", "CMakeLists.txt"};
enum { FILES = sizeof files / sizeof *files };

static assay_status check_name(const char *name) {
    if (name == NULL || *name < 'a' || *name > 'z' || strlen(name) > LONGEST_NAME ||
        name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")] != '\0')
        return assay_fail(ASSAY_ERR_USAGE,
                          "new operator: the name is a small letter, then up to %d small letters, "
                          "digits and _",
                          LONGEST_NAME - 1);
    if (assay_op_find(name, strlen(name)) != NULL)
        return assay_fail(ASSAY_ERR_USAGE,
                          "new operator: assay has an operator %s; choose another name", name);
    return ASSAY_OK;
}

static void put_renamed(const char *text, const char *name, FILE *to) {
    const size_t n = strlen(example);
    for (const char *at; (at = strstr(text, example)) != NULL; text = at + n)
        fprintf(to, "%.*s%s", (int)(at - text), text, name);
    fputs(text, to);
}

static assay_status write_file(const char *from, const char *folder, const char *file,
                               const char *name) {
    char path[2 * PATH_MAX];
    char *text = NULL, *renamed = NULL;
    size_t size;
    snprintf(path, sizeof path, "%s/%s", from, file);
    assay_status status = text_file_read(path, "file", MOST, &text, &size);
    if (status == ASSAY_OK && text == NULL)
        status = assay_fail(ASSAY_ERR_FILE, "%.300s: is not there; install assay again", path);
    FILE *to = status == ASSAY_OK ? open_memstream(&renamed, &size) : NULL;
    if (status == ASSAY_OK && to == NULL)
        status = assay_fail(ASSAY_ERR_MEMORY, "no memory for %s", file);
    if (to != NULL) {
        put_renamed(text, name, to);
        (void)fclose(to);
        snprintf(path, sizeof path, "%s/", folder);
        FILE *as = fmemopen(path + strlen(path), sizeof path - strlen(path), "w");
        if (as != NULL) {
            put_renamed(file, name, as);
            (void)fclose(as);
        }
        status = text_file_write(path, renamed, size);
    }
    free(renamed);
    free(text);
    return status;
}

assay_exit cli_operator_new(const assay_cli_args *args) {
    const char *name = args->source, *folder = args->output != NULL ? args->output : name;
    char from[PATH_MAX];
    assay_status status = check_name(name);
    if (status == ASSAY_OK)
        status = assay_place("operator", from);
    if (status == ASSAY_OK && mkdir(folder, 0777) != 0)
        status =
            errno == EEXIST
                ? assay_fail(ASSAY_ERR_USAGE,
                             "new operator: %.300s is there already; name another by --out", folder)
                : assay_fail(ASSAY_ERR_FILE, "%.300s: %s", folder, strerror(errno));
    for (int i = 0; status == ASSAY_OK && i < FILES; ++i)
        status = write_file(from, folder, files[i], name);
    if (status != ASSAY_OK)
        return assay_cli_complain(status);
    fprintf(args->out.stream,
            "wrote %s: %s.c (keys, oracle, bounds, cases) and v1.cu (a kernel). Next:\n\n"
            "  assay check %s/v1 --operator %s/%s.c --kernel %s/v1.cu --device sim\n\n"
            "CMakeLists.txt builds %s.so and v1.so against an installed assay.\n",
            folder, name, name, folder, name, folder, name);
    return ASSAY_EXIT_PASSED;
}
