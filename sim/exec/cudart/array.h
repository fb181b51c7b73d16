/* CUDA arrays: images in the device's memory, row after row without gaps. */
#ifndef ASSAY_SIM_EXEC_CUDART_ARRAY_H
#define ASSAY_SIM_EXEC_CUDART_ARRAY_H

#include "sim/exec/cudart/cudart.h"
#include "sim/texture.h"

typedef struct channel_format {
    int bits[4], kind; /* as sim_channel, and NO_CHANNEL */
} channel_format;
enum { NO_CHANNEL = 3 };

enum { ARRAY_LAYERED = 1, ARRAY_SURFACE = 2, ARRAY_GATHER = 8 };

typedef struct array {
    sim_image image;
    channel_format format;
    size3 size; /* as the program gave it */
    unsigned flags;
} array;

/* NULL: it is no array of the program's. */
const array *cudart_array_of(const void *handle);

/* False: no texture has such elements. */
bool cudart_image_format(const channel_format *format, sim_image *image);

static inline size_t cudart_element(const sim_image *image) {
    return (size_t)image->channels * image->bits / 8;
}

/* The side of a copy that an array is; at.x counts bytes. EXEC_INVALID_VALUE: `size`, a width in
 * bytes, does not lie within it. */
exec_error cudart_array_part(const void *handle, position at, size3 size, char **memory,
                             size_t *pitch, size_t *slice);

#endif
