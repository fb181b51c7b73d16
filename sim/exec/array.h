/* CUDA arrays: images in the device's memory, row after row and plane after plane without gaps. The
 * runtime's and the driver's are the same. */
#ifndef ASSAY_SIM_EXEC_ARRAY_H
#define ASSAY_SIM_EXEC_ARRAY_H

#include "sim/exec/error.h"
#include "sim/texture.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct exec_size3 {
    size_t width, rows, planes;
} exec_size3;

typedef struct exec_position {
    size_t x, y, z;
} exec_position;

/* As the runtime has it. `kind`: a sim_channel, or EXEC_NO_CHANNEL. */
typedef struct exec_format {
    int bits[4], kind;
} exec_format;
enum { EXEC_NO_CHANNEL = 3 };

/* As cudaArray... numbers them; the driver's numbers are the same. */
enum { EXEC_ARRAY_LAYERED = 1, EXEC_ARRAY_SURFACE = 2, EXEC_ARRAY_CUBE = 4, EXEC_ARRAY_GATHER = 8 };

typedef struct exec_array {
    sim_image image;
    exec_format format;
    exec_size3 size; /* as the program gave it */
    unsigned flags;
    bool is_level; /* of an array with levels, which alone may free it */
} exec_array;

/* False: no texture has such elements. */
bool exec_image_format(const exec_format *format, sim_image *image);

static inline size_t exec_image_element(const sim_image *image) {
    return (size_t)image->channels * image->bits / 8;
}

exec_error exec_array_make(void **handle, const exec_format *format, exec_size3 size,
                           unsigned flags);
/* Behind the work that was given before. EXEC_INVALID_VALUE: it is none, or belongs to another. */
exec_error exec_array_free(void *handle);
void exec_array_belongs(void *handle, bool is_level);

/* NULL: it is no array of the program's. */
const exec_array *exec_array_of(const void *handle);

/* The side of a copy that an array is; at.x counts bytes. EXEC_INVALID_VALUE: `size`, a width in
 * bytes, does not lie within it. */
exec_error exec_array_part(const void *handle, exec_position at, exec_size3 size, char **memory,
                           size_t *pitch, size_t *slice);

/* The same of `bytes` from (x, y) on, over the ends of rows, in an array of one plane. */
exec_error exec_array_run(const void *handle, size_t x, size_t y, size_t bytes, char **memory);

#endif
