#include "golden/manifest.h"
#include "assay/golden.h"
#include "core/replace.h"
#include "golden/record.h"

#include <ctype.h>
#include <errno.h>
#include <sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A line: 64 digits, "  ", the name. */
enum { DIGITS = GOLDEN_SHA256 - 1, BEFORE_NAME = DIGITS + 2, LARGEST = 1 << 20 };

#define REMEDY "restore both from version control, or make the file anew and list it with sha256sum"

/* ---- files ---- */

static assay_status unreadable(const char *path) {
    return assay_fail(ASSAY_ERR_FILE, "%s: %s; restore it from version control", path,
                      strerror(errno));
}

static const char *name_in(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static assay_status list_beside(const char *path, char list[PATH_MAX]) {
    const int folder = (int)(name_in(path) - path);
    if (snprintf(list, PATH_MAX, "%.*s" GOLDEN_MANIFEST, folder, path) < PATH_MAX)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_FILE, "%s: the path is too long; choose another folder", path);
}

static assay_status digest_file(const char *path, char digest[GOLDEN_SHA256]) {
    char bytes[4096];
    uint8_t sum[DIGITS / 2];
    struct sha256 s;
    size_t size;
    FILE *from = fopen(path, "rb");
    if (from == NULL)
        return unreadable(path);
    sha256_init(&s);
    while ((size = fread(bytes, 1, sizeof bytes, from)) > 0)
        sha256_update(&s, bytes, size);
    const bool broken = ferror(from) != 0;
    fclose(from);
    if (broken)
        return unreadable(path);
    sha256_sum(&s, sum);
    for (size_t i = 0; i < sizeof sum; ++i)
        snprintf(digest + 2 * i, 3, "%02x", sum[i]);
    return ASSAY_OK;
}

/* The whole list, for free(); NULL where there is none. */
static assay_status read_list(const char *list, char **text) {
    *text = NULL;
    FILE *from = fopen(list, "rb");
    if (from == NULL)
        return errno == ENOENT ? ASSAY_OK : unreadable(list);
    *text = calloc(LARGEST, 1);
    if (*text == NULL) {
        fclose(from);
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for %s", list);
    }
    const size_t size = fread(*text, 1, LARGEST, from);
    const bool broken = ferror(from) != 0;
    fclose(from);
    if (!broken && size < LARGEST && strlen(*text) == size)
        return ASSAY_OK;
    free(*text);
    *text = NULL;
    return assay_fail(ASSAY_ERR_FILE, "%s: not a list that sha256sum made; restore it", list);
}

/* ---- lines ---- */

static bool is_line(const char *line, size_t length) {
    if (length <= BEFORE_NAME + 1 || line[length - 1] != '\n' || line[DIGITS] != ' ' ||
        line[DIGITS + 1] != ' ')
        return false;
    for (int i = 0; i < DIGITS; ++i)
        if (!isdigit((unsigned char)line[i]) && !(line[i] >= 'a' && line[i] <= 'f'))
            return false;
    return true;
}

/* Up to and with its end. */
static size_t line_length(const char *line) {
    const size_t length = strcspn(line, "\n");
    return length + (line[length] != '\0');
}

/* The order of a line's name and `name`. */
static int compare_name(const char *line, const char *name) {
    const size_t length = line_length(line) - 1 - BEFORE_NAME;
    const int order = strncmp(line + BEFORE_NAME, name, length);
    return order != 0 ? order : (name[length] == '\0' ? 0 : -1);
}

static assay_status check_list(const char *list, const char *text) {
    int number = 1;
    for (const char *line = text; *line != '\0'; line += line_length(line), ++number)
        if (!is_line(line, line_length(line)))
            return assay_fail(ASSAY_ERR_FILE,
                              "%s: line %d: not 64 digits, two blanks and a name; restore it", list,
                              number);
    return ASSAY_OK;
}

/* The line for `name`; NULL: none. */
static const char *find_line(const char *text, const char *name) {
    for (; *text != '\0'; text += line_length(text))
        if (compare_name(text, name) == 0)
            return text;
    return NULL;
}

/* The list beside a golden file, for free(); NULL where there is none. */
static assay_status load_list(const char *path, char list[PATH_MAX], char **text) {
    *text = NULL;
    assay_status status = list_beside(path, list);
    if (status == ASSAY_OK)
        status = read_list(list, text);
    if (status == ASSAY_OK && *text != NULL)
        status = check_list(list, *text);
    return status;
}

/* ---- checking ---- */

assay_status assay_golden_check_listed(const char *path, bool *listed) {
    char list[PATH_MAX], digest[GOLDEN_SHA256], *text;
    *listed = false;
    assay_status status = load_list(path, list, &text);
    const char *line = status == ASSAY_OK && text != NULL ? find_line(text, name_in(path)) : NULL;
    if (line != NULL) {
        *listed = true;
        status = digest_file(path, digest);
        if (status == ASSAY_OK && memcmp(line, digest, DIGITS) != 0)
            status = assay_fail(ASSAY_ERR_FILE,
                                "%s: not the file that " GOLDEN_MANIFEST " lists; " REMEDY, path);
    }
    free(text);
    return status;
}

/* ---- writing ---- */

static assay_status write_list(const char *list, const char *text) {
    replacement temporary;
    assay_status status = replacement_begin(&temporary, list);
    if (status != ASSAY_OK)
        return status;
    const size_t size = strlen(text);
    errno = ENOSPC; /* of a short write */
    if (write(temporary.descriptor, text, size) != (ssize_t)size)
        status = assay_fail(ASSAY_ERR_FILE, "%s: cannot be written: %s", list, strerror(errno));
    if (status == ASSAY_OK)
        status = replacement_commit(&temporary);
    replacement_clear(&temporary);
    return status;
}

/* The text with the line for `name`, in the order of names, in place of any that it had. */
static char *with_line(const char *text, const char *name, const char *digest) {
    const size_t size = strlen(text) + BEFORE_NAME + strlen(name) + 2;
    char *fresh = malloc(size), *to = fresh;
    bool placed = false;
    if (fresh == NULL)
        return NULL;
    for (const char *line = text;; line += line_length(line)) {
        const int order = *line != '\0' ? compare_name(line, name) : 1;
        if (order > 0 && !placed)
            to += sprintf(to, "%s  %s\n", digest, name);
        placed = placed || order > 0;
        if (*line == '\0')
            break;
        if (order == 0)
            continue;
        memcpy(to, line, line_length(line));
        to += line_length(line);
    }
    *to = '\0';
    return fresh;
}

assay_status golden_manifest_update(const char *path) {
    char list[PATH_MAX], digest[GOLDEN_SHA256], *text, *fresh = NULL;
    assay_status status = load_list(path, list, &text);
    if (status != ASSAY_OK || text == NULL)
        goto done;
    status = digest_file(path, digest);
    if (status != ASSAY_OK)
        goto done;
    fresh = with_line(text, name_in(path), digest);
    status = fresh != NULL ? write_list(list, fresh)
                           : assay_fail(ASSAY_ERR_MEMORY, "no memory for %s", list);
done:
    free(fresh);
    free(text);
    return status;
}
