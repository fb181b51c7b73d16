/*
 * The way in: every function of the stand-ins passes through here. One host thread at a time is let
 * in, a sticky error answers in place of the function, and a function's result is kept as CUDA
 * keeps it.
 */
#ifndef ASSAY_SIM_EXEC_CALL_H
#define ASSAY_SIM_EXEC_CALL_H

#include "sim/exec/error.h"

#include <stdbool.h>

/* Locks. An error: the device is lost to an earlier one, which is returned, or a capture is under
 * way that forbids the call. */
exec_error exec_call_begin(const char *name);

/* Unlocks and returns `error`; one that is no answer to a question (EXEC_NOT_READY) becomes the
 * thread's last error. */
exec_error exec_call_end(exec_error error);

/* Only unlocks: the driver keeps no last error. */
exec_error exec_call_leave(exec_error error);

/* Whether this thread has called the runtime, whose context is then its current one. */
bool exec_call_by_runtime(void);

/* The function that the program has called: "cudaMemcpy". */
const char *exec_call_name(void);

/* The runtime of CUDA 13 no longer tells a wrong grid or block from other wrong values. */
static inline exec_error exec_of_runtime(exec_error error) {
#if defined(EXEC_CUDART) && EXEC_CUDART >= 13
    if (error == EXEC_INVALID_CONFIGURATION)
        return EXEC_INVALID_VALUE;
#endif
    return error;
}

/* For the functions of the runtime: runs `body`, an expression, as the function that it stands in.
 */
#define EXEC_CALL(body)                                                                            \
    do {                                                                                           \
        exec_error error_ = exec_call_begin(__func__);                                             \
        if (error_ == EXEC_SUCCESS)                                                                \
            error_ = exec_of_runtime(body);                                                        \
        return exec_call_end(error_);                                                              \
    } while (0)

/* The thread's last error; `clear`: it is no longer. */
exec_error exec_last_error(bool clear);

/* The program has asked for an error's name. */
void exec_error_asked(int error);

/* A kernel failed: every later call returns this error, until the device is reset. */
void exec_device_lost(exec_error error);
void exec_device_found(void);
exec_error exec_device_error(void); /* EXEC_SUCCESS: it is not lost */

/* EXEC_SUCCESS, or the error that a status stands for; the line is in assay_error(). */
exec_error exec_error_of(assay_status status);

#endif
