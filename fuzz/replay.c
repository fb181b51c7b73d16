/*
 * Runs every file of the archives named through a target: a corpus as a test, in builds that have
 * no libFuzzer. The archives are of tar's format `ustar`, read where they are.
 */
#include "fuzz/fuzz.h"

#include <string.h>

enum { BLOCK = 512, NAME = 100, SIZE_AT = 124, SIZE_DIGITS = 12, TYPE_AT = 156, MAGIC_AT = 257 };
enum { LARGEST_INPUT = 1 << 20 };

/* HDF5 1.10 forgets memory of its own when it refuses a damaged file. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
    return "leak:libhdf5\n";
}

static int fault(const char *path, const char *what) {
    fprintf(stderr, "%s: %s\n", path, what);
    return EXIT_FAILURE;
}

/* The next file's header; false behind the last, where a block of zeros stands. */
static int read_header(FILE *from, char header[BLOCK]) {
    return fread(header, 1, BLOCK, from) == BLOCK && header[0] != '\0';
}

/* The size in a header of a plain file; -1 for anything else. */
static long size_of(const char header[BLOCK]) {
    char digits[SIZE_DIGITS + 1] = "", *end;
    memcpy(digits, header + SIZE_AT, SIZE_DIGITS);
    const long size = strtol(digits, &end, 8);
    if (memcmp(header + MAGIC_AT, "ustar", 5) != 0 || header[TYPE_AT] != '0' || end == digits ||
        size < 0 || size > LARGEST_INPUT)
        return -1;
    return size;
}

/* The archive pads each file to whole blocks; the input is of its exact size, so that
 * AddressSanitizer sees a read behind the end. */
static int run_file(FILE *from, size_t size) {
    char padding[BLOCK];
    const size_t rest = (BLOCK - size % BLOCK) % BLOCK;
    uint8_t *input = malloc(size > 0 ? size : 1);
    const int whole = input != NULL && fread(input, 1, size, from) == size &&
                      fread(padding, 1, rest, from) == rest;
    if (whole)
        (void)LLVMFuzzerTestOneInput(input, size);
    free(input);
    return whole;
}

static int run_archive(const char *path, int *count) {
    char header[BLOCK];
    FILE *from = fopen(path, "rb");
    if (from == NULL)
        return fault(path, "cannot be opened");
    const char *what = NULL;
    while (what == NULL && read_header(from, header)) {
        const long size = size_of(header);
        if (size < 0)
            what = "holds what is no plain file of at most 1 MiB in the format ustar";
        else if (!run_file(from, (size_t)size))
            what = "is cut off";
        ++*count;
    }
    if (what == NULL && (ferror(from) || feof(from)))
        what = "ends without a block of zeros: it is cut off";
    fclose(from);
    return what == NULL ? EXIT_SUCCESS : fault(path, what);
}

int main(int argc, char **argv) {
    int count = 0;
    for (int i = 1; i < argc; ++i)
        if (run_archive(argv[i], &count) != EXIT_SUCCESS)
            return EXIT_FAILURE;
    printf("%d inputs\n", count);
    return count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
