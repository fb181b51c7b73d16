#include "core/sink.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static assay_status cannot_write(const cli_sink *sink) {
    return assay_fail(ASSAY_ERR_FILE, "%.300s: cannot be written: %s",
                      strcmp(sink->path, "-") == 0 ? "standard output" : sink->path,
                      strerror(errno));
}

static void forget(cli_sink *sink) {
    free(sink->place);
    free(sink->temporary);
    *sink = (cli_sink){0};
}

/* mkstemp makes files private; a report gets the mode that any new file gets. */
static void set_mode(int file) {
    const mode_t mask = umask(0);
    umask(mask);
    if (fchmod(file, 0666 & ~mask) != 0)
        errno = 0; /* a file system without modes is no reason to fail */
}

static assay_status open_temporary(cli_sink *sink) {
    if (asprintf(&sink->temporary, "%s.XXXXXX", sink->place) < 0) {
        sink->temporary = NULL;
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for the name of %.300s", sink->path);
    }
    const int file = mkstemp(sink->temporary);
    if (file >= 0)
        sink->stream = fdopen(file, "w");
    if (sink->stream != NULL) {
        set_mode(file);
        return ASSAY_OK;
    }
    const assay_status status = cannot_write(sink);
    if (file >= 0) {
        close(file);
        unlink(sink->temporary);
    }
    return status;
}

assay_status sink_open(cli_sink *sink, const char *path) {
    struct stat info;
    assay_status status;
    *sink = (cli_sink){.path = path};
    if (strcmp(path, "-") == 0) {
        sink->stream = stdout;
        return ASSAY_OK;
    }
    const bool exists = stat(path, &info) == 0;
    if (exists && !S_ISREG(info.st_mode)) {
        sink->stream = fopen(path, "w");
        return sink->stream != NULL ? ASSAY_OK : cannot_write(sink);
    }
    if (exists && access(path, W_OK) != 0)
        return cannot_write(sink);
    sink->place = exists ? realpath(path, NULL) : strdup(path);
    status = sink->place != NULL ? open_temporary(sink) : cannot_write(sink);
    if (status != ASSAY_OK)
        forget(sink);
    return status;
}

assay_status sink_commit(cli_sink *sink) {
    assay_status status = ASSAY_OK;
    errno = EIO; /* for a stream that failed earlier and took its reason with it */
    if (fflush(sink->stream) != 0 || ferror(sink->stream)) {
        status = cannot_write(sink);
        sink_discard(sink);
        return status;
    }
    if (sink->stream != stdout && fclose(sink->stream) != 0)
        status = cannot_write(sink);
    sink->stream = NULL;
    if (status == ASSAY_OK && sink->temporary != NULL && rename(sink->temporary, sink->place) != 0)
        status = cannot_write(sink);
    if (status != ASSAY_OK && sink->temporary != NULL)
        unlink(sink->temporary);
    forget(sink);
    return status;
}

void sink_discard(cli_sink *sink) {
    if (sink->stream != NULL && sink->stream != stdout)
        fclose(sink->stream);
    if (sink->temporary != NULL)
        unlink(sink->temporary);
    forget(sink);
}
