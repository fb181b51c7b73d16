/* The actions of libassay_exec.so when a program loads it and when it is unloaded. */
#include "sim/exec/allocate.h"
#include "sim/exec/call.h"
#include "sim/exec/launch.h"
#include "sim/exec/replace.h"
#include "sim/exec/report.h"
#include "sim/exec/stream.h"
#include "sim/schedule.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

static void set_schedule(const char *text) {
    static const char *const names[ASSAY_SCHEDULES] = {"inorder", "reverse", "random", "warp"};
    const char *colon = strchr(text, ':');
    for (int i = 0; colon != NULL && i < ASSAY_SCHEDULES; ++i)
        if (strncmp(text, names[i], (size_t)(colon - text)) == 0)
            sim_schedule_set((assay_schedule)i, strtoull(colon + 1, NULL, 10));
}

static int32_t processes(void) {
    const char *given = getenv(EXEC_JOBS_VARIABLE);
    cpu_set_t set;
    if (given != NULL)
        return (int32_t)strtol(given, NULL, 10);
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* Whether the program holds the simulated device itself, as assay_kernel_guest does: its functions
 * come before this library's, which is then not used. */
static bool is_shadowed(void) {
    const void *found = dlsym(RTLD_DEFAULT, "exec_call_begin");
    return found != NULL && found != (const void *)(uintptr_t)exec_call_begin;
}

/* Before the program's own constructors, which register its kernels. */
__attribute__((constructor)) static void enter(void) {
    const char *order = getenv(EXEC_ORDER_VARIABLE);
    if (is_shadowed())
        return;
    if (order != NULL && strcmp(order, "late") == 0)
        exec_streams_set(EXEC_LATE);
    const char *schedule = getenv(EXEC_SCHEDULE_VARIABLE);
    if (schedule != NULL)
        set_schedule(schedule);
    exec_launch_share(processes());
    exec_replace_runtime();
}

/* Behind the program's destructors, which may free memory. */
__attribute__((destructor)) static void leave(void) {
    if (exec_device_error() == EXEC_SUCCESS) /* after an error a program cannot free memory */
        exec_tell_leaks();
}
