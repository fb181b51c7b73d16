/*
 * Runs every file of the folders named through a target: a corpus as a test, in builds that have no
 * libFuzzer.
 */
#include "fuzz/fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

enum { LARGEST_INPUT = 1 << 20 };

/* HDF5 1.10 forgets memory of its own when it refuses a damaged file. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
    return "leak:libhdf5\n";
}

static int fault(const char *path) {
    fprintf(stderr, "%s: %s\n", path, errno != 0 ? strerror(errno) : "too large");
    return EXIT_FAILURE;
}

static int run_file(const char *path) {
    static uint8_t bytes[LARGEST_INPUT];
    errno = 0;
    FILE *from = fopen(path, "rb");
    if (from == NULL)
        return fault(path);
    const size_t size = fread(bytes, 1, sizeof bytes, from);
    const int broken = ferror(from);
    fclose(from);
    if (broken || size == sizeof bytes)
        return fault(path);
    /* At its exact size, so that AddressSanitizer sees a read behind the end. */
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL)
        return fault(path);
    memcpy(copy, bytes, size);
    (void)LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    return EXIT_SUCCESS;
}

static int run_folder(const char *folder, int *count) {
    DIR *directory = opendir(folder);
    int status = EXIT_SUCCESS;
    if (directory == NULL)
        return fault(folder);
    for (struct dirent *entry; status == EXIT_SUCCESS && (entry = readdir(directory)) != NULL;) {
        char path[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        status = run_file(path);
        ++*count;
    }
    closedir(directory);
    return status;
}

int main(int argc, char **argv) {
    int count = 0;
    for (int i = 1; i < argc; ++i)
        if (run_folder(argv[i], &count) != EXIT_SUCCESS)
            return EXIT_FAILURE;
    printf("%d inputs\n", count);
    return count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
