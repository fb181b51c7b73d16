/*
 * The stand-in for libcuda: thin functions over sim/exec/, as the stand-ins for libcudart are, so
 * that a program may use both. There is one context; CUcontext is a mark. No call asks whether one
 * is current.
 */
#ifndef ASSAY_SIM_EXEC_DRIVER_H
#define ASSAY_SIM_EXEC_DRIVER_H

#include "sim/exec/call.h"
#include "sim/exec/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT                  __attribute__((visibility("default")))
#define SAME_AS(name, original) EXPORT __typeof__(original) name __attribute__((alias(#original)))

/* CUdeviceptr */
typedef uint64_t device_pointer;

void *driver_context(void); /* the one that there is */
bool driver_is_context(const void *context);

/* The options of a compilation, CUjit_option, and the places of their values. */
typedef struct driver_jit {
    unsigned n;
    const int *option;
    void **value;
    size_t info_room, error_room; /* of the buffers: the places of their sizes are overwritten */
} driver_jit;

driver_jit driver_jit_of(unsigned n, const int *options, void **values);

/* Answers those that ask for messages: `error` is "" or a line. */
void driver_jit_tell(const driver_jit *jit, const char *error);

/* Answers those that ask for the time. */
void driver_jit_time(const driver_jit *jit, double seconds);
double driver_now(void); /* of a clock, in seconds */

static inline void *at(device_pointer p) {
    return (void *)(uintptr_t)p;
}

/* The driver's error where the runtime has one of its own. */
static inline exec_error of_driver(exec_error error) {
    switch (error) {
    case EXEC_INVALID_CONFIGURATION:
    case EXEC_INVALID_PITCH:
    case EXEC_INVALID_DIRECTION:
        return EXEC_INVALID_VALUE;
    case EXEC_INVALID_SYMBOL:
        return EXEC_NOT_FOUND;
    case EXEC_INVALID_FUNCTION:
        return EXEC_INVALID_HANDLE;
    default:
        return error;
    }
}

#define DRIVER_CALL(body)                                                                          \
    do {                                                                                           \
        exec_error error_ = exec_call_begin(__func__);                                             \
        if (error_ == EXEC_SUCCESS)                                                                \
            error_ = of_driver(body);                                                              \
        return exec_call_leave(error_);                                                            \
    } while (0)

/* *to = value, where there is a place for it. */
#define GIVE(to, value) ((to) != NULL ? (*(to) = (value), EXEC_SUCCESS) : EXEC_INVALID_VALUE)

#endif
