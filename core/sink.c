#include "core/sink.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static assay_status cannot_write(const cli_sink *sink) {
    return assay_fail(ASSAY_ERR_FILE, "%.300s: cannot be written: %s",
                      strcmp(sink->path, "-") == 0 ? "standard output" : sink->path,
                      strerror(errno));
}

static assay_status open_file(cli_sink *sink) {
    assay_status status = replacement_begin(&sink->file, sink->path);
    if (status != ASSAY_OK)
        return status;
    const int file = dup(sink->file.descriptor); /* the stream closes its own */
    if (file >= 0)
        sink->stream = fdopen(file, "w");
    if (sink->stream != NULL)
        return ASSAY_OK;
    status = cannot_write(sink);
    if (file >= 0)
        close(file);
    replacement_clear(&sink->file);
    return status;
}

assay_status sink_open(cli_sink *sink, const char *path) {
    struct stat info;
    *sink = (cli_sink){.path = path, .in_place = true, .file = {.descriptor = -1}};
    if (strcmp(path, "-") == 0) {
        sink->stream = stdout;
        return ASSAY_OK;
    }
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
        sink->stream = fopen(path, "w");
        return sink->stream != NULL ? ASSAY_OK : cannot_write(sink);
    }
    sink->in_place = false;
    return open_file(sink);
}

assay_status sink_commit(cli_sink *sink) {
    assay_status status = ASSAY_OK;
    errno = EIO; /* for a stream that failed earlier and took its reason with it */
    if (fflush(sink->stream) != 0 || ferror(sink->stream))
        status = cannot_write(sink);
    else if (sink->stream != stdout && fclose(sink->stream) != 0) {
        status = cannot_write(sink);
        sink->stream = NULL;
    } else {
        sink->stream = NULL;
        if (!sink->in_place)
            status = replacement_commit(&sink->file);
    }
    sink_discard(sink);
    return status;
}

void sink_discard(cli_sink *sink) {
    if (sink->stream != NULL && sink->stream != stdout)
        fclose(sink->stream);
    if (sink->path != NULL && !sink->in_place)
        replacement_clear(&sink->file);
    *sink = (cli_sink){.in_place = true, .file = {.descriptor = -1}};
}
