#include "tests/faults/inject/inject.h"

#include <execinfo.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>

enum { DEPTH = 40 };

static inject_record *armed;
static inject_mode wanted;
static int64_t wanted_at;

static uint64_t path_of_callers(void) {
    void *frame[DEPTH];
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    const int depth = backtrace(frame, DEPTH);
    for (int i = 0; i < depth; ++i)
        hash = (hash ^ (uint64_t)(uintptr_t)frame[i]) * UINT64_C(0x100000001b3);
    return hash;
}

void inject_arm(inject_mode mode, int64_t at, inject_record *record) {
    void *frame[1];
    (void)backtrace(frame, 1); /* loads what it needs now, not within malloc */
    wanted = mode;
    wanted_at = at;
    armed = record;
}

void inject_disarm(void) {
    armed = NULL;
}

bool inject_is_armed(void) {
    return armed != NULL;
}

bool inject_fires(const char *name) {
    if (armed == NULL)
        return false;
    const int64_t call = atomic_fetch_add(&armed->calls, 1) + 1;
    if (wanted == INJECT_NOTHING && call <= INJECT_NOTED) {
        snprintf(armed->call[call - 1].name, INJECT_NAME, "%s", name);
        armed->call[call - 1].path = path_of_callers();
    }
    if (wanted == INJECT_NOTHING || call != wanted_at)
        return false;
    if (wanted == INJECT_KILL)
        (void)raise(SIGKILL);
    snprintf(armed->failed, INJECT_NAME, "%s", name);
    return true;
}
