#include "engine/guest.h"
#include "engine/frame.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Until it is ready, our own program speaks: no kernel has been loaded. */
static assay_status await_ready(process *guest, sandbox_walls *walls) {
    char word[512];
    assay_status status = await(guest, start_seconds, INFINITY, word, sizeof word);
    if (status == ASSAY_OK && word[0] == GUEST_MOVED) {
        process_moved(guest, (pid_t)strtol(word + 1, NULL, 10));
        status = await(guest, start_seconds, INFINITY, word, sizeof word);
    }
    if (status != ASSAY_OK)
        return status;
    *walls = sandbox_of_text(word + 1);
    return word[0] == GUEST_READY ? ASSAY_OK : assay_fail(ASSAY_ERR_DEVICE, "%s", word);
}

assay_status guest_start(process *guest, const guest_plan *plan, sandbox_walls *walls) {
    char *all[] = {(char *)plan->python,  (char *)plan->script,
                   (char *)plan->program, (char *)(plan->open ? "open" : "sandbox"),
                   (char *)plan->device,  (char *)plan->kernel,
                   (char *)plan->binding, NULL};
    char **argv = plan->python ? all : all + 2;
    const int error = process_start(guest, argv, PROCESS_MESSAGES, -1);
    if (error != 0 && plan->python)
        return assay_fail(ASSAY_ERR_FILE,
                          "%s, Python's interpreter, cannot be started: %s; set "
                          "ASSAY_PYTHON",
                          plan->python, strerror(error));
    if (error != 0)
        return assay_fail(ASSAY_ERR_FILE,
                          "%s, which runs variants, cannot be started: %s; build the target "
                          "assay_guest",
                          plan->program, strerror(error));
    const assay_status status = await_ready(guest, walls);
    if (status != ASSAY_OK)
        process_stop(guest);
    return status;
}

assay_status guest_load(process *guest, double seconds, double bytes) {
    char line[FRAME_LINE];
    (void)process_send(guest, &(char){FRAME_LOAD}, 1, -1);
    const assay_status status = await(guest, seconds, bytes, line, sizeof line);
    if (status != ASSAY_OK || strcmp(line, "done") == 0)
        return status;
    for (char *c = line; *c != '\0'; ++c)
        if (iscntrl((unsigned char)*c))
            *c = ' ';
    return assay_fail(ASSAY_ERR_FILE, "%s", line);
}

assay_status guest_share(process *guest, int *channel) {
    int theirs = -1;
    const int error = process_channel(channel, &theirs);
    if (error != 0)
        return assay_fail(ASSAY_ERR_FILE, "no channel to the variants' process: %s",
                          strerror(error));
    const assay_status status = guest_ask(guest, FRAME_SHARE, theirs, start_seconds, INFINITY);
    (void)close(theirs);
    if (status != ASSAY_OK)
        (void)close(*channel);
    return status;
}

assay_status guest_ask(process *guest, char word, int file, double seconds, double bytes) {
    char done[8];
    /* Where it takes none it has ended, or is about to: the wait tells how. An early word of "done"
     * would be taken for this answer: the frame's own mark decides (isolate.c). */
    (void)process_send(guest, &word, 1, file);
    return await(guest, seconds, bytes, done, sizeof done);
}
