#include "sim/exec/cudart/cudart.h"

static const char unknown[] = "unrecognized error code";

EXPORT const char *cudaGetErrorString(int error) {
    const char *text = exec_error_text(error);
    exec_error_asked(error);
    return text != NULL ? text : unknown;
}

EXPORT const char *cudaGetErrorName(int error) {
    const char *name = exec_error_runtime_name(error);
    exec_error_asked(error);
    return name != NULL ? name : unknown;
}

EXPORT exec_error cudaGetLastError(void) {
    return exec_last_error(true);
}

EXPORT exec_error cudaPeekAtLastError(void) {
    return exec_last_error(false);
}
