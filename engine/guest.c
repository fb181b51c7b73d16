#include "engine/guest.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A GPU's context, a driver that starts: longer than any kernel may take to load. */
static const double start_seconds = 120;

/* The line of what it printed that says most: a sanitizer's summary, otherwise the first. */
static const char *telling_line(const process *guest, char line[256]) {
    static const char *const marks[] = {"SUMMARY: ", "runtime error: ", "terminate called"};
    const char *at = guest->said;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; ++i) {
        const char *mark = strstr(guest->said, marks[i]);
        if (!mark)
            continue;
        while (mark > guest->said && mark[-1] != '\n')
            --mark;
        at = mark;
        break;
    }
    at += strspn(at, "\n =");
    const int length = (int)strcspn(at, "\n");
    snprintf(line, 256, "%s%.*s", length > 0 ? "; it printed: " : "", length < 220 ? length : 220,
             at);
    return line;
}

static assay_failure failure_of(process_end end) {
    return end == PROCESS_HANG     ? ASSAY_FAILURE_HANG
           : end == PROCESS_MEMORY ? ASSAY_FAILURE_MEMORY
                                   : ASSAY_FAILURE_CRASH;
}

/* One message from it, into `text`. Anything else is its end. */
static assay_status await(process *guest, double seconds, double bytes, char *text, size_t size) {
    char how[PROCESS_LINE], printed[256];
    const size_t n =
        process_read(guest, &(process_limits){.seconds = seconds, .bytes = bytes}, text, size - 1);
    text[n] = '\0';
    return n > 0 ? ASSAY_OK
                 : assay_fail_as(ASSAY_ERR_KERNEL, failure_of(guest->end), "its process %s%s",
                                 process_how(guest, how), telling_line(guest, printed));
}

assay_status guest_start(process *guest, const char *program, const char *device,
                         const char *kernel) {
    char *argv[] = {(char *)program, (char *)device, (char *)kernel, NULL};
    char word[512];
    const int error = process_start(guest, argv, PROCESS_MESSAGES, -1);
    if (error != 0)
        return assay_fail(ASSAY_ERR_FILE,
                          "%s, which runs variants, cannot be started: %s; build the target "
                          "assay_guest",
                          program, strerror(error));
    assay_status status = await(guest, start_seconds, INFINITY, word, sizeof word);
    if (status == ASSAY_OK && word[0] != 'r') {
        status = assay_fail(ASSAY_ERR_DEVICE, "%s", word);
        process_stop(guest);
    }
    return status;
}

assay_status guest_ask(process *guest, int frame, double seconds, double bytes) {
    char word[8];
    /* Where it takes none it has ended, or is about to: the wait tells how. An early word of "done"
     * would be taken for this answer: the frame's own mark decides (isolate.c). */
    (void)process_send(guest, "f", 1, frame);
    return await(guest, seconds, bytes, word, sizeof word);
}
