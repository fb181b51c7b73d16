#include "core/place.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool join(char path[PATH_MAX], const char *folder, const char *name) {
    const int length = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return length >= 0 && length < PATH_MAX;
}

static bool holds(const char *folder, const char *name) {
    char path[PATH_MAX];
    return join(path, folder, name) && access(path, F_OK) == 0;
}

static bool is_tree(const char *folder) {
    return holds(folder, PLACE_LIST) || holds(folder, ASSAY_INSTALLED_PROGRAMS);
}

/* Shortens the path by its last part; false when none is left. */
static bool go_up(char path[PATH_MAX]) {
    char *slash = strrchr(path, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

static assay_status find_tree(char root[PATH_MAX]) {
    const char *given = getenv("ASSAY_TREE");
    if (given && *given) {
        if (snprintf(root, PATH_MAX, "%s", given) < PATH_MAX && is_tree(root))
            return ASSAY_OK;
        return assay_fail(ASSAY_ERR_FILE,
                          "ASSAY_TREE=%.300s: holds neither " PLACE_LIST
                          " nor " ASSAY_INSTALLED_PROGRAMS
                          "; set it to the root of a build tree or to an installed prefix",
                          given);
    }
    const ssize_t n = readlink("/proc/self/exe", root, PATH_MAX - 1);
    if (n < 0)
        return assay_fail(ASSAY_ERR_FILE, "/proc/self/exe: %s; mount /proc, or set ASSAY_TREE",
                          strerror(errno));
    root[n] = '\0';
    while (go_up(root))
        if (is_tree(root))
            return ASSAY_OK;
    return assay_fail(ASSAY_ERR_FILE,
                      "this program is neither in a build tree nor in an installed tree "
                      "of assay; set ASSAY_TREE to the prefix of one");
}

/* The list has lines `name path`. */
static assay_status look_up(const char *root, const char *name, char path[PATH_MAX]) {
    char file[PATH_MAX], line[PATH_MAX + 64];
    const size_t n = strlen(name);
    bool found = false;
    FILE *list = join(file, root, PLACE_LIST) ? fopen(file, "r") : NULL;
    if (!list)
        return assay_fail(ASSAY_ERR_FILE, "%.300s/" PLACE_LIST ": %s", root, strerror(errno));
    while (!found && fgets(line, sizeof line, list)) {
        line[strcspn(line, "\n")] = '\0';
        found = strncmp(line, name, n) == 0 && line[n] == ' ';
    }
    (void)fclose(list);
    if (found && snprintf(path, PATH_MAX, "%s", line + n + 1) < PATH_MAX)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_FILE, "%.300s/" PLACE_LIST " has no %s; configure this build again",
                      root, name);
}

static assay_status look_in_prefix(const char *root, const char *name, char path[PATH_MAX]) {
    if (strcmp(name, "source") == 0 || strcmp(name, "build") == 0)
        return assay_fail(ASSAY_ERR_FILE,
                          "%.300s is an installed tree, without the sources that this needs; use "
                          "the assay that was built in a checkout",
                          root);
    char folder[PATH_MAX];
    const bool is_data = strcmp(name, "golden") == 0 || strcmp(name, "kernels") == 0 ||
                         strcmp(name, "operator") == 0;
    if (strncmp(name, "include", strlen("include")) == 0 && join(path, root, name))
        return ASSAY_OK;
    if (join(folder, root, is_data ? ASSAY_INSTALLED_DATA : ASSAY_INSTALLED_PROGRAMS) &&
        join(path, folder, name))
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_FILE, "%.300s: the path is too long; move the tree", root);
}

assay_status assay_place(const char *name, char path[PATH_MAX]) {
    char root[PATH_MAX];
    const assay_status status = find_tree(root);
    if (status != ASSAY_OK)
        return status;
    return holds(root, PLACE_LIST) ? look_up(root, name, path) : look_in_prefix(root, name, path);
}

assay_status assay_place_tree(char root[PATH_MAX], char list[PATH_MAX]) {
    const assay_status status = find_tree(root);
    list[0] = '\0';
    if (status == ASSAY_OK && holds(root, PLACE_LIST) && !join(list, root, PLACE_LIST))
        return assay_fail(ASSAY_ERR_FILE, "%.300s: the path is too long; move the tree", root);
    return status;
}
