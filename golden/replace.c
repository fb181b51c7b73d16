#include "golden/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".tmp"

static mode_t permissions_like(const char *target) {
    struct stat info;
    if (stat(target, &info) == 0)
        return info.st_mode & 0777;
    const mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

assay_status golden_temporary_init(golden_temporary *t, const char *target) {
    *t = (golden_temporary){.target = target, .descriptor = -1};
    const int length = snprintf(t->path, sizeof t->path, "%s.XXXXXX" SUFFIX, target);
    if (length < 0 || (size_t)length >= sizeof t->path) {
        t->path[0] = '\0';
        return assay_fail(ASSAY_ERR_FILE, "%s: the path is too long", target);
    }
    t->descriptor = mkostemps(t->path, (int)strlen(SUFFIX), O_CLOEXEC);
    if (t->descriptor < 0) {
        t->path[0] = '\0';
        return assay_fail(ASSAY_ERR_FILE, "%s: cannot write beside it: %s; choose another folder",
                          target, strerror(errno));
    }
    if (fchmod(t->descriptor, permissions_like(target)) == 0)
        return ASSAY_OK;
    const int error = errno;
    golden_temporary_clear(t);
    return assay_fail(ASSAY_ERR_FILE, "%s: cannot set its permissions: %s", target,
                      strerror(error));
}

/* So that the new name survives a crash too. */
static void sync_directory(const char *path) {
    char directory[GOLDEN_PATH];
    snprintf(directory, sizeof directory, "%s", path);
    char *slash = strrchr(directory, '/');
    if (slash == NULL)
        snprintf(directory, sizeof directory, ".");
    else
        slash[1] = '\0';
    const int descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return;
    fsync(descriptor);
    close(descriptor);
}

assay_status golden_temporary_commit(golden_temporary *t) {
    if (fsync(t->descriptor) != 0 || rename(t->path, t->target) != 0)
        return assay_fail(ASSAY_ERR_FILE, "%s: cannot be replaced: %s", t->target, strerror(errno));
    t->path[0] = '\0';
    sync_directory(t->target);
    return ASSAY_OK;
}

void golden_temporary_clear(golden_temporary *t) {
    if (t->path[0] != '\0')
        unlink(t->path);
    if (t->descriptor >= 0)
        close(t->descriptor);
    *t = (golden_temporary){.descriptor = -1};
}
