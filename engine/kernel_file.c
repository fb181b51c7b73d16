#include "engine/kernel_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void kernel_file_symbol(const char *op, const char *name, const char *device,
                        char symbol[KERNEL_SYMBOL]) {
    snprintf(symbol, KERNEL_SYMBOL, "assay_variant_%s_%s_%s", op, name, device);
}

/* A table of names holds it with the 0 bytes around it. */
static bool lacks(const char *image, size_t size, const char *symbol) {
    char wanted[KERNEL_SYMBOL + 2] = "";
    const size_t length = strlen(symbol);
    memcpy(wanted + 1, symbol, length);
    return size > SELFMAG && memcmp(image, ELFMAG, SELFMAG) == 0 &&
           !memmem(image, size, wanted, length + 2);
}

assay_status kernel_file_names(const char *path, const char *symbol) {
    assay_status status = ASSAY_OK;
    struct stat info = {0};
    void *image = MAP_FAILED;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &info) != 0) {
        status = assay_fail(ASSAY_ERR_FILE, "%s: %s", path, strerror(errno));
        goto done;
    }
    if (info.st_size > 0)
        image = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (image != MAP_FAILED && lacks(image, (size_t)info.st_size, symbol))
        status =
            assay_fail(ASSAY_ERR_USAGE, "%s has no %s: ASSAY_VARIANT names another", path, symbol);
done:
    if (image != MAP_FAILED)
        (void)munmap(image, (size_t)info.st_size);
    if (file >= 0)
        (void)close(file);
    return status;
}
