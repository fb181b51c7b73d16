/* Texture and surface objects, those of the runtime and those of the driver. */
#ifndef ASSAY_SIM_EXEC_TEXTURE_H
#define ASSAY_SIM_EXEC_TEXTURE_H

#include "sim/exec/array.h"
#include "sim/exec/view.h"

/* As cudaResourceType and CUresourcetype number them. */
typedef enum exec_resource_kind {
    EXEC_OF_ARRAY,
    EXEC_OF_LEVELS,
    EXEC_OF_MEMORY, /* plain */
    EXEC_OF_ROWS,   /* pitched */
} exec_resource_kind;

typedef struct exec_resource {
    int kind;
    void *array; /* with levels or without */
    void *memory;
    exec_format format;
    size_t bytes;              /* of plain memory */
    size_t width, rows, pitch; /* of pitched memory; the width in elements */
} exec_resource;

/* Integers become fractions of their range or stay; the driver's way leaves those of 32 bits as
 * they are, where the runtime's refuses them. */
enum { EXEC_AS_IT_IS, EXEC_FRACTIONS, EXEC_PROMOTED };

/* As cudaTextureDesc has it. */
typedef struct exec_reading {
    int border[3], filter, mode, srgb;
    float color[4];
    int normalized;
    unsigned anisotropy;
    int level_filter;
    float level_bias, least_level, most_level;
    int no_trilinear, seamless;
} exec_reading;

typedef struct exec_texture {
    bool surface; /* without `how` */
    exec_resource resource;
    exec_reading how;
    bool viewed;
    exec_view view;
} exec_texture;

/* The most elements of plain memory that a texture reads: 4 GiB of them, and 2^30, as an H200's
 * driver says. EXEC_INVALID_VALUE: no texture has the format. */
exec_error exec_texture_line(size_t *elements, const exec_format *format);

/* `view`: NULL: none. */
exec_error exec_texture_make(uint64_t *object, const exec_resource *resource,
                             const exec_reading *how, const exec_view *view);
exec_error exec_surface_make(uint64_t *object, const exec_resource *resource);

/* Behind the work that was given before. No object at all is nothing to free, as CUDA has it, but
 * a problem of its own. */
exec_error exec_texture_free(uint64_t object, bool surface);

/* What an object was made of; NULL: there is none of that kind. */
const exec_texture *exec_texture_of(uint64_t object, bool surface);

/* Its view. Without one CUDA succeeds, too, and leaves the description as it is. */
exec_error exec_texture_view(exec_view *view, uint64_t object);

#endif
