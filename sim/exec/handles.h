/* The objects that programs hold by a pointer. All such pointers are known, so that a wrong one is
 * refused. */
#ifndef ASSAY_SIM_EXEC_HANDLES_H
#define ASSAY_SIM_EXEC_HANDLES_H

#include "assay/status.h"

#include <stdbool.h>

typedef enum exec_handle {
    EXEC_HANDLE_STREAM,
    EXEC_HANDLE_EVENT,
    EXEC_HANDLE_MODULE,
    EXEC_HANDLE_GRAPH,
    EXEC_HANDLE_NODE,
    EXEC_HANDLE_REPLAY,
    EXEC_HANDLE_KERNEL,
    EXEC_HANDLE_ARRAY,
    EXEC_HANDLE_LEVELS,
    EXEC_HANDLE_PHYSICAL,
    EXEC_HANDLE_POOL,
    EXEC_HANDLE_LINK,
    EXEC_HANDLE_CONDITION,
    EXEC_HANDLE_USER_OBJECT,
} exec_handle;

/* A pointer is one object. ASSAY_ERR_MEMORY */
assay_status exec_handle_add(const void *object, exec_handle kind) ASSAY_MUST_CHECK;
void exec_handle_remove(const void *object);
bool exec_handle_is(const void *object, exec_handle kind);

#endif
