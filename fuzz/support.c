#include "fuzz/fuzz.h"

#include "assay/status.h"

#include <string.h>
#include <unistd.h>

void fuzz_expect_line(void) {
    const char *line = assay_error();
    FUZZ_EXPECT(line[0] != '\0');
    for (const char *c = line; *c != '\0'; ++c)
        FUZZ_EXPECT((unsigned char)*c >= ' ' && *c != 0x7f);
}

static char path[64];

static void remove_file(void) {
    (void)unlink(path);
}

/* HDF5 follows links, so that a file without a name, under /proc, will not do. */
static int create_file(void) {
    snprintf(path, sizeof path, "%s/assay-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : P_tmpdir);
    const int file = mkstemp(path);
    FUZZ_EXPECT(file >= 0);
    FUZZ_EXPECT(atexit(remove_file) == 0);
    return file;
}

const char *fuzz_file(const uint8_t *data, size_t size) {
    static int file = -1;
    if (file < 0)
        file = create_file();
    /* In this order the file keeps its pages. */
    FUZZ_EXPECT(pwrite(file, data, size, 0) == (ssize_t)size);
    FUZZ_EXPECT(ftruncate(file, (off_t)size) == 0);
    return path;
}
