#include "sim/exec/condition.h"

#include "sim/exec/handles.h"
#include "sim/exec/report.h"
#include "sim/ptx/launch.h"

#include <inttypes.h>
#include <stdlib.h>

exec_condition *exec_condition_of(uint64_t handle) {
    exec_condition *c = (exec_condition *)(uintptr_t)handle; /* NOLINT: a number to programs */
    return exec_handle_is(c, EXEC_HANDLE_CONDITION) ? c : NULL;
}

/* A kernel calls cudaGraphSetConditional. */
static void set(uint64_t handle, uint32_t value) {
    exec_condition *c = exec_condition_of(handle);
    if (c != NULL)
        c->value = value;
    else
        exec_problem_in(exec_report_get()->now.kernel, "", EXEC_PROBLEM_KERNEL,
                        "a kernel calls cudaGraphSetConditional with %#" PRIx64
                        ", which is the handle of no graph",
                        handle);
}

static exec_error add(exec_conditions *list, exec_condition *c) {
    exec_condition **larger = realloc(list->condition, (list->n + 1) * sizeof(exec_condition *));
    if (larger == NULL)
        return EXEC_OUT_OF_MEMORY;
    list->condition = larger;
    larger[list->n++] = c;
    ++c->holders;
    return EXEC_SUCCESS;
}

exec_error exec_condition_create(exec_conditions *list, uint32_t first, bool assigned,
                                 uint64_t *handle) {
    exec_condition *c = calloc(1, sizeof *c);
    if (c == NULL)
        return EXEC_OUT_OF_MEMORY;
    *c = (exec_condition){.first = first, .assigned = assigned};
    if (exec_handle_add(c, EXEC_HANDLE_CONDITION) != ASSAY_OK || add(list, c) != EXEC_SUCCESS) {
        exec_handle_remove(c);
        free(c);
        return EXEC_OUT_OF_MEMORY;
    }
    ptx_conditions(set);
    *handle = (uint64_t)(uintptr_t)c;
    return EXEC_SUCCESS;
}

void exec_condition_drop(exec_condition *c) {
    if (c == NULL || --c->holders > 0)
        return;
    exec_handle_remove(c);
    free(c);
}

exec_error exec_conditions_copy(exec_conditions *to, const exec_conditions *from) {
    exec_error error = EXEC_SUCCESS;
    for (size_t i = 0; i < from->n && error == EXEC_SUCCESS; ++i)
        error = add(to, from->condition[i]);
    return error;
}

void exec_conditions_free(exec_conditions *list) {
    for (size_t i = 0; i < list->n; ++i)
        exec_condition_drop(list->condition[i]);
    free(list->condition);
    *list = (exec_conditions){0};
}

void exec_conditions_begin(const exec_conditions *list) {
    for (size_t i = 0; i < list->n; ++i)
        if (list->condition[i]->assigned)
            list->condition[i]->value = list->condition[i]->first;
}
