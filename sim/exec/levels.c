#include "sim/exec/levels.h"

#include "sim/exec/call.h"
#include "sim/exec/handles.h"

#include <stdlib.h>

const exec_levels *exec_levels_of(const void *handle) {
    return exec_handle_is(handle, EXEC_HANDLE_LEVELS) ? handle : NULL;
}

static size_t half(size_t n) {
    return n > 1 ? n / 2 : n;
}

static bool is_last(exec_size3 n, bool layers) {
    return n.width <= 1 && n.rows <= 1 && (layers || n.planes <= 1);
}

static void release(exec_levels *l) {
    for (uint32_t i = 0; i < l->n; ++i) {
        exec_array_belongs(l->level[i], false);
        (void)!exec_array_free(l->level[i]);
    }
    free(l);
}

exec_error exec_levels_make(void **handle, const exec_format *f, exec_size3 size, unsigned n,
                            unsigned flags) {
    const bool layers = (flags & (EXEC_ARRAY_LAYERED | EXEC_ARRAY_CUBE)) != 0;
    if (handle == NULL || f == NULL)
        return EXEC_INVALID_VALUE;
    exec_levels *l = calloc(1, sizeof *l);
    if (l == NULL)
        return EXEC_OUT_OF_MEMORY;
    exec_error error = EXEC_SUCCESS;
    do {
        error = exec_array_make(&l->level[l->n], f, size, flags);
        if (error == EXEC_SUCCESS)
            exec_array_belongs(l->level[l->n++], true);
        if (is_last(size, layers))
            break;
        size = (exec_size3){half(size.width), half(size.rows),
                            layers ? size.planes : half(size.planes)};
    } while (error == EXEC_SUCCESS && l->n < n && l->n < SIM_LEVELS);
    if (error == EXEC_SUCCESS)
        error = exec_error_of(exec_handle_add(l, EXEC_HANDLE_LEVELS));
    if (error == EXEC_SUCCESS)
        *handle = l;
    else
        release(l);
    return error;
}

exec_error exec_levels_free(void *handle) {
    if (exec_levels_of(handle) == NULL)
        return EXEC_INVALID_VALUE;
    exec_handle_remove(handle);
    release(handle);
    return EXEC_SUCCESS;
}
