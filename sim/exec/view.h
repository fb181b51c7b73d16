/* Views: the image of an array, or some of its levels and layers, read as elements of another
 * format. */
#ifndef ASSAY_SIM_EXEC_VIEW_H
#define ASSAY_SIM_EXEC_VIEW_H

#include "sim/exec/error.h"
#include "sim/texture.h"

/* As cudaResourceViewDesc and CUDA_RESOURCE_VIEW_DESC begin. */
typedef struct exec_view {
    int format;
    size_t width, rows, planes;
    unsigned first_level, last_level, first_layer, last_layer;
} exec_view;

/* Narrows the levels of a texture of an array; of one without levels there is one. */
exec_error exec_view_apply(const exec_view *view, sim_texture *texture);

#endif
