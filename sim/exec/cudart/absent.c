/* Functions of the runtime that are not simulated: each says so, once. */
#include "sim/exec/cudart/cudart.h"

static exec_error absent(const char *name) {
    exec_error error = exec_call_begin(name);
    exec_problem(EXEC_PROBLEM_NOT_SIMULATED, "%s is not simulated", name);
    if (error == EXEC_SUCCESS)
        error = EXEC_NOT_SUPPORTED;
    return exec_call_end(error);
}

#define EXEC_ABSENT(name)                                                                          \
    EXPORT exec_error name(void) {                                                                 \
        return absent(#name);                                                                      \
    }
#include "sim/exec/cudart/absent.def"
