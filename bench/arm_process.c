#include "bench/arm_process.h"

#include "core/clock.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 2048 };

/* ---- start and end ---- */

assay_status arm_process_start(arm_process *a, char *const argv[], int memory) {
    *a = (arm_process){0};
    const int error = process_start(&a->process, argv, PROCESS_LINES, memory);
    return error == 0 ? ASSAY_OK
                      : assay_fail(ASSAY_ERR_UNSUPPORTED, "%s cannot be started: %s", argv[0],
                                   strerror(error));
}

void arm_process_end(arm_process *a) {
    process_stop(&a->process);
    free(a->heard);
    free(a->answer);
    *a = (arm_process){0};
}

bool arm_process_runs(const arm_process *a) {
    return a->process.pid > 0;
}

/* ---- what comes from it ---- */

/* Of what it complains of, the last line says most: a traceback ends so. */
static const char *last_line(process *p) {
    while (p->said_bytes > 0 && strchr("\n\r ", p->said[p->said_bytes - 1]))
        p->said[--p->said_bytes] = '\0';
    const char *line = strrchr(p->said, '\n');
    return line ? line + 1 : p->said;
}

/* It is of no use any more. */
static assay_status broke(arm_process *a, const char *why) {
    char how[PROCESS_LINE];
    process_stop(&a->process);
    const char *said = last_line(&a->process);
    const assay_status status =
        assay_fail(ASSAY_ERR_DEVICE, "its process %s%s%s%.200s", process_how(&a->process, how), why,
                   said[0] ? "; it said: " : "", said);
    arm_process_end(a);
    return status;
}

static bool hear(arm_process *a, const char *text, size_t count) {
    if (a->heard_bytes + count + 1 > a->heard_room) {
        const size_t room = 2 * (a->heard_bytes + count + 1);
        char *more = realloc(a->heard, room);
        if (!more)
            return false;
        a->heard = more;
        a->heard_room = room;
    }
    memcpy(a->heard + a->heard_bytes, text, count);
    a->heard_bytes += count;
    a->heard[a->heard_bytes] = '\0';
    return true;
}

/* Moves the first line heard into a->answer; false when there is no whole one yet. */
static bool take_line(arm_process *a) {
    char *end = a->heard_bytes > 0 ? strchr(a->heard, '\n') : NULL;
    if (!end)
        return false;
    *end = '\0';
    free(a->answer);
    a->answer = strdup(a->heard);
    const size_t used = (size_t)(end - a->heard) + 1;
    memmove(a->heard, a->heard + used, a->heard_bytes - used + 1);
    a->heard_bytes -= used;
    return true;
}

static assay_status await_line(arm_process *a, double seconds) {
    const double deadline = now() + seconds;
    char text[4096];
    while (!take_line(a)) {
        const process_limits limits = {.seconds = fmax(deadline - now(), 0),
                                       .bytes = INFINITY,
                                       .go_on = a->go_on,
                                       .context = a->context};
        const size_t n = process_read(&a->process, &limits, text, sizeof text);
        if (n == 0 && a->process.end == PROCESS_HANG)
            a->process.limit = seconds; /* of the whole line */
        if (n == 0)
            return broke(a, a->process.end == PROCESS_STOPPED ? ": interrupted" : "");
        if (!hear(a, text, n))
            return broke(a, ": no memory for its answer");
    }
    return a->answer ? ASSAY_OK : broke(a, ": no memory for its answer");
}

/* ---- question and answer ---- */

static assay_status refuse(arm_process *a, const char *text) {
    static const struct {
        const char *class;
        assay_status status;
    } classes[] = {{"unavailable ", ASSAY_ERR_UNSUPPORTED},
                   {"memory ", ASSAY_ERR_MEMORY},
                   {"error ", ASSAY_ERR_KERNEL}};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; ++i)
        if (strncmp(text, classes[i].class, strlen(classes[i].class)) == 0)
            return assay_fail(classes[i].status, "%s", text + strlen(classes[i].class));
    return broke(a, ": its answer is none that docs/bench.md has");
}

/* Cuts the word at the answer's head off. */
static assay_status understand(arm_process *a) {
    char *text = a->answer;
    if (strncmp(text, "no ", 3) == 0)
        return refuse(a, text + 3);
    if (strcmp(text, "ok") != 0 && strncmp(text, "ok ", 3) != 0)
        return refuse(a, "");
    text += text[2] == ' ' ? 3 : 2;
    memmove(a->answer, text, strlen(text) + 1);
    return ASSAY_OK;
}

static assay_status send_line(arm_process *a, const char *format, va_list arguments) {
    char line[LINE];
    if (!arm_process_runs(a))
        return assay_fail(ASSAY_ERR_DEVICE, "its process has ended already");
    const int length = vsnprintf(line, sizeof line - 1, format, arguments);
    if (length < 0 || length >= (int)sizeof line - 1)
        return assay_fail(ASSAY_ERR_USAGE, "a line of %d bytes is too long for an arm", length);
    line[length] = '\n';
    /* Where it takes none it has ended, or is about to: the answer that is missing tells how. */
    (void)process_send(&a->process, line, (size_t)length + 1, -1);
    return ASSAY_OK;
}

assay_status arm_process_send(arm_process *a, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const assay_status status = send_line(a, format, arguments);
    va_end(arguments);
    return status;
}

assay_status arm_process_receive(arm_process *a, double seconds) {
    if (!arm_process_runs(a)) /* process_send() found its end */
        return broke(a, "");
    const assay_status status = await_line(a, seconds);
    return status == ASSAY_OK ? understand(a) : status;
}

assay_status arm_process_ask(arm_process *a, double seconds, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const assay_status status = send_line(a, format, arguments);
    va_end(arguments);
    return status == ASSAY_OK ? arm_process_receive(a, seconds) : status;
}
