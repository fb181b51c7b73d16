/* Arrays with levels (mipmapped arrays): each level an array of its own, half as large as the one
 * before in every dimension that is no layer. */
#ifndef ASSAY_SIM_EXEC_LEVELS_H
#define ASSAY_SIM_EXEC_LEVELS_H

#include "sim/exec/array.h"

typedef struct exec_levels {
    uint32_t n;
    void *level[SIM_LEVELS]; /* handles of arrays */
} exec_levels;

/* As many levels as are asked for, but no more than there can be. */
exec_error exec_levels_make(void **handle, const exec_format *format, exec_size3 size, unsigned n,
                            unsigned flags);
/* Behind the work that was given before. EXEC_INVALID_VALUE: it is none. */
exec_error exec_levels_free(void *handle);

/* NULL: it is no such array. */
const exec_levels *exec_levels_of(const void *handle);

#endif
