#include "cli/text_file.h"
#include "core/sink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static assay_status read_all(FILE *from, const char *path, const char *what, size_t most,
                             char **text, size_t *size) {
    struct stat info;
    if (fstat(fileno(from), &info) != 0 || !S_ISREG(info.st_mode) || (size_t)info.st_size > most)
        return assay_fail(ASSAY_ERR_FILE, "%.300s: is not a %s", path, what);
    *size = (size_t)info.st_size;
    *text = calloc(*size + 1, 1);
    if (*text == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "%.300s: no memory to read it", path);
    if (fread(*text, 1, *size, from) == *size)
        return ASSAY_OK;
    free(*text);
    *text = NULL;
    return assay_fail(ASSAY_ERR_FILE, "%.300s: cannot be read to its end", path);
}

assay_status text_file_read(const char *path, const char *what, size_t most, char **text,
                            size_t *size) {
    *text = NULL;
    *size = 0;
    FILE *from = fopen(path, "rb");
    if (from == NULL)
        return errno == ENOENT ? ASSAY_OK
                               : assay_fail(ASSAY_ERR_FILE, "%.300s: cannot be read: %s", path,
                                            strerror(errno));
    const assay_status status = read_all(from, path, what, most, text, size);
    fclose(from);
    return status;
}

assay_status text_file_write(const char *path, const char *text, size_t size) {
    cli_sink sink;
    const assay_status status = sink_open(&sink, path);
    if (status != ASSAY_OK)
        return status;
    (void)fwrite(text, 1, size, sink.stream); /* a failure shows when it is committed */
    return sink_commit(&sink);
}
