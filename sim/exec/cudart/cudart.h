/*
 * The stand-in for libcudart: thin functions over sim/exec/. EXEC_CUDART is the major version whose
 * binary interface they have, 11, 12 or 13; the files here are compiled once for each.
 *
 * Layouts and numbers are those of CUDA's public headers. Enumerations are int, handles void *.
 */
#ifndef ASSAY_SIM_EXEC_CUDART_H
#define ASSAY_SIM_EXEC_CUDART_H

#include "sim/exec/array.h"
#include "sim/exec/call.h"
#include "sim/exec/copy.h"
#include "sim/exec/launch.h"
#include "sim/exec/report.h"
#include "sim/exec/stream.h"

#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* A function under a second name: of a program that is compiled for a default stream of each
 * thread. All threads share the one that blocks here, which orders more than CUDA promises. */
#define SAME_AS(name, original) EXPORT __typeof__(original) name __attribute__((alias(#original)))

typedef struct launch_attribute {
    int id;
    char padding[4];
    union {
        char bytes[64];
        exec_dim cluster;
        int number;
    } value;
} launch_attribute;

typedef struct launch_config {
    exec_dim grid, block;
    size_t dynamic_shared;
    void *stream;
    const launch_attribute *attribute;
    unsigned n_attributes;
} launch_config;

enum { LAUNCH_COOPERATIVE = 2, LAUNCH_CLUSTER = 4 };

/* The launch that a configuration asks for. */
exec_launch cudart_launch_of(const launch_config *config);

typedef struct pitched {
    void *memory;
    size_t pitch, width, rows;
} pitched;

typedef exec_size3 size3;
typedef exec_position position;

typedef struct copy3 {
    void *from_array;
    position from_at;
    pitched from;
    void *to_array;
    position to_at;
    pitched to;
    size3 size;
    int direction;
} copy3;

/* EXEC_INVALID_VALUE: it does not lie within its array. */
exec_error cudart_block_of(const copy3 *copy, exec_block *block);

/* `bytes` of a variable from byte `at` on. EXEC_INVALID_SYMBOL; EXEC_INVALID_VALUE, with a line: it
 * has fewer. */
exec_error cudart_symbol_part(const void *symbol, size_t bytes, size_t at, char **address);

#endif
