#include "core/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".tmp"
enum { MOST_LINKS = 40 }; /* as many as Linux follows */

static assay_status cannot_write(const replacement *r) {
    return assay_fail(ASSAY_ERR_FILE, "%.300s: cannot be written: %s", r->name, strerror(errno));
}

/* path = what the link at path names, relative to the folder of the link. */
static bool follow(char path[PATH_MAX]) {
    char text[PATH_MAX], folder[PATH_MAX];
    const ssize_t length = readlink(path, text, sizeof text - 1);
    if (length < 0)
        return false;
    text[length] = '\0';
    memcpy(folder, path, PATH_MAX);
    const int needed = text[0] == '/' ? snprintf(path, PATH_MAX, "%s", text)
                                      : snprintf(path, PATH_MAX, "%s/%s", dirname(folder), text);
    return needed < PATH_MAX;
}

/* A link may name a file that does not exist yet, which realpath() cannot resolve. */
static assay_status find_target(replacement *r) {
    struct stat info;
    if (snprintf(r->target, sizeof r->target, "%s", r->name) >= PATH_MAX)
        return assay_fail(ASSAY_ERR_FILE, "%.300s: the path is too long", r->name);
    for (int i = 0; lstat(r->target, &info) == 0 && S_ISLNK(info.st_mode); ++i) {
        errno = ELOOP;
        if (i == MOST_LINKS || !follow(r->target))
            return cannot_write(r);
    }
    return ASSAY_OK;
}

/* Of the target where it exists, otherwise those of any new file. */
static assay_status find_mode(const replacement *r, mode_t *mode) {
    struct stat info;
    if (lstat(r->target, &info) != 0) {
        if (errno != ENOENT)
            return cannot_write(r);
        const mode_t mask = umask(0);
        umask(mask);
        *mode = 0666 & ~mask;
        return ASSAY_OK;
    }
    if (S_ISDIR(info.st_mode))
        return assay_fail(ASSAY_ERR_FILE, "%.300s: a folder; name a file", r->name);
    if (!S_ISREG(info.st_mode))
        return assay_fail(ASSAY_ERR_FILE,
                          "%.300s: not a regular file, so it is not replaced; name a file",
                          r->name);
    *mode = info.st_mode & 0777;
    return access(r->target, W_OK) == 0 ? ASSAY_OK : cannot_write(r);
}

assay_status replacement_begin(replacement *r, const char *name) {
    *r = (replacement){.name = name, .descriptor = -1};
    mode_t mode = 0;
    assay_status status = find_target(r);
    if (status == ASSAY_OK)
        status = find_mode(r, &mode);
    if (status != ASSAY_OK)
        return status;
    if (snprintf(r->path, sizeof r->path, "%s.XXXXXX" SUFFIX, r->target) >= PATH_MAX) {
        r->path[0] = '\0';
        return assay_fail(ASSAY_ERR_FILE, "%.300s: the path is too long", name);
    }
    r->descriptor = mkostemps(r->path, (int)strlen(SUFFIX), O_CLOEXEC);
    if (r->descriptor < 0) {
        r->path[0] = '\0';
        return cannot_write(r);
    }
    /* A file system without modes is no reason to fail. */
    if (fchmod(r->descriptor, mode) == 0 || errno == EPERM || errno == ENOTSUP)
        return ASSAY_OK;
    status = cannot_write(r);
    replacement_clear(r);
    return status;
}

/* So that the new name survives a crash too. */
static void sync_folder(const char *path) {
    char folder[PATH_MAX];
    memcpy(folder, path, PATH_MAX);
    const int descriptor = open(dirname(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return;
    fsync(descriptor);
    close(descriptor);
}

assay_status replacement_commit(replacement *r) {
    mode_t mode;
    const assay_status status = find_mode(r, &mode); /* it may have become something else */
    if (status != ASSAY_OK)
        return status;
    if (fsync(r->descriptor) != 0 || rename(r->path, r->target) != 0)
        return cannot_write(r);
    r->path[0] = '\0';
    sync_folder(r->target);
    return ASSAY_OK;
}

void replacement_clear(replacement *r) {
    if (r->path[0] != '\0')
        unlink(r->path);
    if (r->descriptor >= 0)
        close(r->descriptor);
    r->path[0] = '\0';
    r->descriptor = -1;
}
