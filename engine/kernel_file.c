#include "engine/kernel_file.h"
#include "engine/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 1 << 20, FIRST_DESCRIPTOR = 64, DEPTH = 8 };

void kernel_file_symbol(const char *op, const char *name, const char *device,
                        char symbol[KERNEL_SYMBOL]) {
    snprintf(symbol, KERNEL_SYMBOL, "assay_variant_%s_%s_%s", op, name, device);
}

/* ---- one file ---- */

static assay_status cannot(const char *path) {
    return assay_fail(ASSAY_ERR_FILE, "%.300s: %s", path, strerror(errno));
}

static assay_status copy(const char *path, int from, int to) {
    char *bytes = malloc(PIECE);
    assay_status status =
        bytes ? ASSAY_OK : assay_fail(ASSAY_ERR_MEMORY, "no memory for %.300s", path);
    ssize_t n = 1;
    while (status == ASSAY_OK && n > 0) {
        n = read(from, bytes, PIECE);
        if (n < 0 || (n > 0 && write(to, bytes, (size_t)n) != n))
            status = cannot(path);
    }
    free(bytes);
    return status;
}

/* Above the descriptors that a process's ends are given (process.h), and not closed on exec. */
static int inherited(int file) {
    if (file < 0)
        return -1;
    const int moved = fcntl(file, F_DUPFD, FIRST_DESCRIPTOR);
    close(file);
    return moved;
}

static assay_status read_part(kernel_part *part, const char *path) {
    enum { SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };
    struct stat info;
    assay_status status = ASSAY_OK;
    const int from = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* of a pipe, no wait */
    if (from < 0)
        return cannot(path);
    if (fstat(from, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(from);
        return assay_fail(ASSAY_ERR_FILE, "%.300s: is no file", path);
    }
    part->file = inherited(memfd_create("assay-kernel", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (part->file < 0)
        status = cannot(path);
    if (status == ASSAY_OK)
        status = copy(path, from, part->file);
    if (status == ASSAY_OK &&
        (fcntl(part->file, F_ADD_SEALS, SEALS) != 0 || fstat(part->file, &info) != 0))
        status = cannot(path);
    close(from);
    if (status != ASSAY_OK || info.st_size == 0)
        return status;
    void *image = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, part->file, 0);
    if (image == MAP_FAILED)
        return cannot(path);
    part->image = image;
    part->bytes = (size_t)info.st_size;
    return ASSAY_OK;
}

/* ---- the libraries that it brings along ---- */

static bool is_system(const char *folder) {
    static const char *const folders[] = {"/usr/", "/lib/", "/lib64/", "/lib32/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; ++i)
        if (strncmp(folder, folders[i], strlen(folders[i])) == 0)
            return true;
    return false;
}

/* One folder of a run path, without $ORIGIN; "" when it is too long. */
static void expand(const char *folder, size_t length, const char *origin, char path[PATH_MAX]) {
    static const char *const words[] = {"$ORIGIN", "${ORIGIN}"};
    path[0] = '\0';
    for (size_t w = 0; w < sizeof words / sizeof *words; ++w) {
        const size_t n = strlen(words[w]);
        if (length >= n && memcmp(folder, words[w], n) == 0) {
            if (snprintf(path, PATH_MAX, "%s%.*s", origin, (int)(length - n), folder + n) >=
                PATH_MAX)
                path[0] = '\0';
            return;
        }
    }
    if (length < PATH_MAX)
        snprintf(path, PATH_MAX, "%.*s", (int)length, folder);
}

/* Where the loader would find `name` in the run path; false: it is the system's. */
static bool find(const char *name, const char *run_path, const char *origin, char path[PATH_MAX]) {
    char folder[PATH_MAX], real[PATH_MAX];
    if (strchr(name, '/'))
        return realpath(name, path) != NULL && !is_system(path);
    for (const char *at = run_path; *at != '\0';) {
        const size_t length = strcspn(at, ":");
        expand(at, length, origin, folder);
        at += length + (at[length] == ':');
        if (folder[0] == '\0' || strlen(folder) + strlen(name) + 2 > sizeof folder)
            continue;
        strcat(strcat(folder, "/"), name);
        if (realpath(folder, real) == NULL)
            continue;
        snprintf(path, PATH_MAX, "%s", real);
        return !is_system(path);
    }
    return false;
}

static bool has_part(const kernel_file *k, const char *name) {
    for (int32_t i = 0; i < k->n_parts; ++i)
        if (strcmp(k->part[i].name, name) == 0)
            return true;
    return false;
}

static assay_status add(kernel_file *k, const char *name, const char *path, int depth);

static assay_status add_needed(kernel_file *k, const elf_dynamic *d, const char *path, int depth) {
    char origin[PATH_MAX], found[PATH_MAX];
    snprintf(origin, sizeof origin, "%s", path);
    *strrchr(origin, '/') = '\0'; /* realpath() made it */
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < d->n_needed; ++i)
        if (!has_part(k, d->needed[i]) && find(d->needed[i], d->run_path, origin, found))
            status = add(k, d->needed[i], found, depth + 1);
    return status;
}

/* After what it needs. `name`: by which it is needed; of the file itself, NULL. */
static assay_status add(kernel_file *k, const char *name, const char *path, int depth) {
    kernel_part part = {.file = -1};
    elf_dynamic d = {0};
    if (depth > DEPTH || (name && strlen(name) >= KERNEL_NAME))
        return assay_fail(ASSAY_ERR_FILE, "%.300s: its libraries need each other too deeply", path);
    assay_status status = read_part(&part, path);
    if (status == ASSAY_OK)
        elf_read_dynamic(part.image, part.bytes, &d);
    if (status == ASSAY_OK && name && strcmp(d.name, name) != 0)
        status = assay_fail(ASSAY_ERR_FILE,
                            "%.300s: is needed as %.100s, and says another name of itself; link it "
                            "with -Wl,-soname,%.100s",
                            path, name, name);
    if (status == ASSAY_OK)
        status = add_needed(k, &d, path, depth);
    if (status == ASSAY_OK && k->n_parts == KERNEL_PARTS)
        status = assay_fail(ASSAY_ERR_FILE, "%.300s: brings more than %d libraries along", path,
                            KERNEL_PARTS - 1);
    snprintf(part.name, sizeof part.name, "%s", name ? name : "");
    if (status == ASSAY_OK)
        k->part[k->n_parts++] = part;
    else
        kernel_file_close(&(kernel_file){.part = {part}, .n_parts = 1});
    return status;
}

/* ---- all of it ---- */

/* Of one file its own hash, as sha256sum has it; of several that of their hashes. */
static void hash_parts(kernel_file *k) {
    char hashes[KERNEL_PARTS * HASH_TEXT] = "";
    for (int32_t i = 0; i < k->n_parts; ++i) {
        char hash[HASH_TEXT];
        hash_bytes(k->part[i].image, k->part[i].bytes, hash);
        strcat(strcat(hashes, i > 0 ? "\n" : ""), hash);
    }
    if (k->n_parts == 1)
        snprintf(k->hash, sizeof k->hash, "%.64s", hashes);
    else
        hash_bytes(hashes, strlen(hashes), k->hash);
}

assay_status kernel_file_open(kernel_file *k, const char *path) {
    char real[PATH_MAX];
    *k = (kernel_file){0};
    if (!realpath(path, real))
        return cannot(path);
    const assay_status status = add(k, NULL, real, 0);
    hash_parts(k);
    size_t used = 0;
    for (int32_t i = 0; i < k->n_parts; ++i)
        used += (size_t)snprintf(k->loaded + used, sizeof k->loaded - used, "%s/proc/self/fd/%d",
                                 i > 0 ? ":" : "", k->part[i].file);
    if (status != ASSAY_OK)
        kernel_file_close(k);
    return status;
}

void kernel_file_close(kernel_file *k) {
    for (int32_t i = 0; i < k->n_parts; ++i) {
        if (k->part[i].image)
            (void)munmap((void *)k->part[i].image, k->part[i].bytes);
        if (k->part[i].file >= 0)
            (void)close(k->part[i].file);
    }
    *k = (kernel_file){0};
}

assay_status kernel_file_names(const kernel_file *k, const char *path, const char *symbol) {
    const kernel_part *own = &k->part[k->n_parts - 1];
    if (!elf_is_whole(own->image, own->bytes) || elf_mentions(own->image, own->bytes, symbol))
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_USAGE,
                      "%s has no %s: ASSAY_VARIANT names another, or --binding is missing", path,
                      symbol);
}
