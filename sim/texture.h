/*
 * Textures and surfaces: images in the device's memory, and how they are read. Kernels hold them by
 * a number, their object. Layouts, modes and formulas are those of the CUDA programming guide; the
 * numbers of modes and formats those of CUDA's headers.
 */
#ifndef ASSAY_SIM_TEXTURE_H
#define ASSAY_SIM_TEXTURE_H

#include "sim/runtime.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sim_channel {
    SIM_CHANNEL_SIGNED,
    SIM_CHANNEL_UNSIGNED,
    SIM_CHANNEL_FLOAT
} sim_channel;

typedef enum sim_border {
    SIM_BORDER_WRAP,
    SIM_BORDER_CLAMP,
    SIM_BORDER_MIRROR,
    SIM_BORDER_COLOR
} sim_border;

/* `dimensions` without layers, whose number is size[2] of 2, size[1] of 1. Bytes lie between rows
 * and between planes or layers. A cube has two dimensions; its faces are layers, +x, -x, +y, -y,
 * +z, -z, and where it is layered too, six for each. */
typedef struct sim_image {
    char *memory;
    size_t pitch, slice;
    uint32_t size[3], dimensions;
    bool layered, cube;
    uint32_t channels, bits; /* of an element: 1, 2 or 4 channels of 8, 16 or 32 bits */
    sim_channel format;
} sim_image;

/* Of an array with levels each has half as many elements in each dimension as the one before. */
enum { SIM_LEVELS = 16 };

typedef struct sim_texture {
    sim_image level[SIM_LEVELS];
    uint32_t n_levels;
    bool surface; /* without the rest */
    sim_border border[3];
    bool linear;     /* filter; otherwise the nearest element */
    bool to_float;   /* integers become fractions of their range */
    bool normalized; /* coordinates */
    bool srgb;       /* the first three channels become linear in brightness */
    bool mixes_levels;
    float bias, least, most; /* of the level that is asked for */
    float color[4];          /* of SIM_BORDER_COLOR */
} sim_texture;

/* 0: no memory. */
uint64_t sim_texture_add(const sim_texture *texture);
/* False: there is none. */
bool sim_texture_remove(uint64_t object);

/* Where a thread reads or writes; `whole`: at index, not at `at`. A surface's index[0] counts
 * bytes. In a cube `at` is a direction from its middle, of three numbers in two dimensions. */
typedef struct sim_fetch {
    uint32_t dimensions, layer;
    bool layered, cube, whole;
    int32_t index[3];
    float at[3];
    float level;
} sim_fetch;

/* The bits of four channels; those that the image lacks are 0. */
void sim_texture_fetch(uint64_t object, const sim_fetch *fetch, uint32_t result[4],
                       const sim_site *site);

/* One channel of the four elements that a linear filter would take, as textureGather of OpenGL has
 * them: from (0, 1) on, against the clock where y counts upward. */
void sim_texture_gather(uint64_t object, const sim_fetch *fetch, uint32_t channel,
                        uint32_t result[4], const sim_site *site);

/* What an access of a surface outside of it does. */
typedef enum sim_outside { SIM_OUTSIDE_TRAP, SIM_OUTSIDE_CLAMP, SIM_OUTSIDE_ZERO } sim_outside;

/* The address of `bytes` in a surface; NULL: they lie outside, and are 0 or not written. */
char *sim_surface_address(uint64_t object, const sim_fetch *fetch, uint32_t bytes,
                          sim_outside outside, const sim_site *site);

#ifdef __cplusplus
}
#endif

#endif
