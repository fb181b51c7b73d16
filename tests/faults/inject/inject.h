/*
 * Faults on demand. The linker leads every call of our objects to a function listed in calls.def
 * through a wrapper (--wrap), which counts it and, at the call asked for, fails it or kills the
 * process. Calls within libraries stay as they are.
 */
#ifndef ASSAY_TESTS_INJECT_H
#define ASSAY_TESTS_INJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum inject_mode {
    INJECT_NOTHING, /* calls are counted, and their callers noted */
    INJECT_FAILURE, /* the call fails as its manual page says it may */
    INJECT_KILL,    /* SIGKILL instead of the call */
} inject_mode;

enum { INJECT_NOTED = 1 << 16, INJECT_NAME = 56 };

/* What the process under test leaves behind, in memory that it shares with its judge. */
typedef struct inject_record {
    atomic_llong calls;
    char failed[INJECT_NAME]; /* the function whose call failed; "": none */
    struct {
        uint64_t path; /* of callers: the same for the same way through the program */
        char name[INJECT_NAME];
    } call[INJECT_NOTED]; /* INJECT_NOTHING: of the first calls */
} inject_record;

/* From now on calls count; call `at`, the first being 1, is the one that `mode` is for. */
void inject_arm(inject_mode mode, int64_t at, inject_record *record);
void inject_disarm(void);
bool inject_is_armed(void);

/* For wrappers: whether this call is to fail. */
bool inject_fires(const char *name);

#endif
