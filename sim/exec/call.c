#include "sim/exec/call.h"

#include "sim/exec/capture.h"
#include "sim/exec/guard.h"
#include "sim/exec/report.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Recursive: a function of the program that the stand-ins call may call them. */
static pthread_mutex_t door = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static const char *name_now = "";
static int depth; /* of calls within calls */
static exec_error lost;

static _Thread_local exec_error last;
static _Thread_local bool by_runtime;

/* The program went on with this call and has not looked at the error before. */
static void went_on(const char *name) {
    exec_report *r = exec_report_get();
    if (r->unseen == 0)
        return;
    exec_problem(
        EXEC_PROBLEM_IGNORED,
        "%s returned %s (%s), and the program went on with %s without asking for it or for "
        "its name",
        r->unseen_call, exec_error_runtime_name(r->unseen), exec_error_text(r->unseen), name);
    r->unseen = 0;
}

exec_error exec_call_begin(const char *name) {
    pthread_mutex_lock(&door);
    if (depth++ == 0)
        exec_guard_open();
    name_now = name;
    by_runtime |= strncmp(name, "cuda", 4) == 0;
    ++exec_report_get()->calls;
    return lost == EXEC_SUCCESS && exec_capture_any() ? exec_capture_call(name) : lost;
}

/* Calls with which a program gives up or cleans up after an error that it has seen, and those that
 * nvcc's code makes. */
static bool is_end(const char *name) {
    return strstr(name, "Free") != NULL || strstr(name, "Destroy") != NULL ||
           strstr(name, "Reset") != NULL || strstr(name, "nregister") != NULL ||
           strstr(name, "Unload") != NULL || strncmp(name, "__", 2) == 0;
}

/* The error is the thread's last one, and the program has yet to look at it. */
static void keep(exec_error error) {
    static exec_error told; /* a lost device answers every call alike: that is told once */
    exec_report *r = exec_report_get();
    last = error;
    if (lost != EXEC_SUCCESS && told == lost)
        return;
    told = lost;
    r->unseen = (int32_t)error;
    snprintf(r->unseen_call, sizeof r->unseen_call, "%s", name_now);
}

static void leave(void) {
    if (--depth == 0)
        exec_guard_close();
    pthread_mutex_unlock(&door);
}

exec_error exec_call_end(exec_error error) {
    if (error != EXEC_NOT_READY && !is_end(name_now))
        went_on(name_now);
    if (error != EXEC_SUCCESS && error != EXEC_NOT_READY)
        keep(error);
    leave();
    return error;
}

exec_error exec_call_leave(exec_error error) {
    leave();
    return error;
}

bool exec_call_by_runtime(void) {
    return by_runtime;
}

const char *exec_call_name(void) {
    return name_now;
}

exec_error exec_last_error(bool clear) {
    const exec_error error = lost != EXEC_SUCCESS ? lost : last;
    if (clear)
        last = EXEC_SUCCESS;
    exec_report_get()->unseen = 0;
    return error;
}

void exec_error_asked(int error) {
    exec_report *r = exec_report_get();
    if (r->unseen == error)
        r->unseen = 0;
}

void exec_device_lost(exec_error error) {
    if (lost == EXEC_SUCCESS)
        lost = error;
}

void exec_device_found(void) {
    lost = EXEC_SUCCESS;
}

exec_error exec_device_error(void) {
    return lost;
}

exec_error exec_error_of(assay_status status) {
    switch (status) {
    case ASSAY_OK:
        return EXEC_SUCCESS;
    case ASSAY_ERR_MEMORY:
        return EXEC_OUT_OF_MEMORY;
    case ASSAY_ERR_UNSUPPORTED:
        return EXEC_NOT_SUPPORTED;
    case ASSAY_ERR_KERNEL:
        return EXEC_LAUNCH_FAILURE;
    case ASSAY_ERR_USAGE:
    case ASSAY_ERR_FILE:
    case ASSAY_ERR_DEVICE:
        break;
    }
    return EXEC_INVALID_VALUE;
}
