#include "cli/state.h"
#include "cli/text_file.h"
#include "engine/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* No certificate is longer: some thousand cases. */
enum { MOST = 16 << 20 };

static assay_status fits(int length) {
    if (length < PATH_MAX)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_USAGE, "the path of the certificates is too long; set "
                                       "ASSAY_CERTIFICATES to a shorter one");
}

static assay_status cannot(const char *path, const char *what) {
    return assay_fail(ASSAY_ERR_FILE, "%.300s: cannot be %s: %s", path, what, strerror(errno));
}

/* ---- the folder ---- */

static assay_status make_directories(char *path) {
    for (char *end = path + 1;; ++end) {
        if (*end != '/' && *end != '\0')
            continue;
        const char kept = *end;
        *end = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return cannot(path, "made; set ASSAY_CERTIFICATES to a folder that can");
        *end = kept;
        if (kept == '\0')
            return ASSAY_OK;
    }
}

static assay_status name_directory(char path[PATH_MAX]) {
    const char *given = getenv("ASSAY_CERTIFICATES"), *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    int length;
    if (given && *given)
        length = snprintf(path, PATH_MAX, "%s", given);
    else if (state && *state)
        length = snprintf(path, PATH_MAX, "%s/assay/certificates", state);
    else if (home && *home)
        length = snprintf(path, PATH_MAX, "%s/.local/state/assay/certificates", home);
    else
        return assay_fail(ASSAY_ERR_USAGE,
                          "HOME is not set; set ASSAY_CERTIFICATES to a folder for "
                          "certificates");
    return fits(length);
}

assay_status state_directory(char path[PATH_MAX]) {
    const assay_status status = name_directory(path);
    return status == ASSAY_OK ? make_directories(path) : status;
}

assay_status state_certificate_path(const char *directory, const certificate_subject *subject,
                                    char path[PATH_MAX]) {
    return fits(snprintf(path, PATH_MAX, "%s/%s-%s-%s%s%s.cert", directory, subject->op,
                         subject->variant, subject->device,
                         subject->scope.forward ? "-forward" : "",
                         subject->scope.packed ? "-packed" : ""));
}

/* ---- the key ---- */

/* Two commands may make it at once: each writes its own aside, and one link wins. */
static assay_status make_key(const char *path) {
    unsigned char key[HASH_KEY];
    char temporary[PATH_MAX];
    assay_status status = fits(snprintf(temporary, sizeof temporary, "%s.XXXXXX", path));
    if (status != ASSAY_OK)
        return status;
    const int file = mkstemp(temporary);
    if (file < 0)
        return cannot(path, "made");
    if (getrandom(key, sizeof key, 0) != sizeof key || write(file, key, sizeof key) != sizeof key ||
        fsync(file) != 0 || (link(temporary, path) != 0 && errno != EEXIST))
        status = cannot(path, "made");
    close(file);
    unlink(temporary);
    return status;
}

static assay_status read_key(const char *path, unsigned char key[HASH_KEY]) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return cannot(path, "read");
    const ssize_t n = read(file, key, HASH_KEY);
    close(file);
    if (n == HASH_KEY)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_FILE, "%.300s: is not a key; delete it, and certify again", path);
}

static assay_status name_key(const char *directory, char path[PATH_MAX]) {
    return fits(snprintf(path, PATH_MAX, "%s/key", directory));
}

void state_conceal_key(void) {
    char directory[PATH_MAX], path[PATH_MAX];
    if (name_directory(directory) == ASSAY_OK && name_key(directory, path) == ASSAY_OK &&
        access(path, F_OK) == 0)
        (void)sandbox_conceal(path);
}

assay_status state_key(const char *directory, unsigned char key[HASH_KEY]) {
    char path[PATH_MAX];
    assay_status status = name_key(directory, path);
    if (status == ASSAY_OK && access(path, F_OK) != 0)
        status = make_key(path);
    return status == ASSAY_OK ? read_key(path, key) : status;
}

/* ---- certificates ---- */

assay_status state_read(const char *path, const unsigned char key[HASH_KEY], bool *exists,
                        assay_certificate *c) {
    char *text;
    size_t size;
    *c = (assay_certificate){0};
    assay_status status = text_file_read(path, "certificate", MOST, &text, &size);
    *exists = text != NULL;
    if (*exists)
        status = certificate_parse(c, path, text, size, key);
    free(text);
    return status;
}

assay_status state_write(const char *path, const unsigned char key[HASH_KEY],
                         const assay_certificate *c) {
    char *text;
    size_t size;
    assay_status status = certificate_format(c, key, &text, &size);
    if (status != ASSAY_OK)
        return status;
    status = text_file_write(path, text, size);
    free(text);
    return status;
}
