/*
 * Reading files of packed tensors beside HDF5: NumPy's .npz and safetensors. Both are read whole,
 * and nothing in them is taken on trust: any bytes give the tensors, or one line.
 */
#ifndef ASSAY_GOLDEN_PACKED_H
#define ASSAY_GOLDEN_PACKED_H

#include "golden/state.h"

typedef struct packed_file {
    const char *path;
    const unsigned char *bytes;
    size_t size;
} packed_file;

enum { PACKED_NAME = 256 };

/* A tensor as it is stored: row-major, little-endian, without padding. */
typedef struct packed_tensor {
    const char *type; /* as the format calls it */
    bool known;       /* `dtype` is that type */
    assay_dtype dtype;
    int32_t rank; /* above ASSAY_MAX_RANK: `shape` is not filled */
    int64_t shape[ASSAY_MAX_RANK];
    const unsigned char *data;
    size_t bytes;
} packed_tensor;

/* Finds the place of "in/logits". `slot->use` is STATE_IGNORE where the file's tensor is not looked
 * at; `slot` is not filled then. */
assay_status packed_find(const state_reading *r, const char *name,
                         state_slot *slot) ASSAY_MUST_CHECK;

/* The most bytes that the tensor's elements can take, stored in any type that is accepted. */
size_t packed_most_bytes(const state_slot *slot);

/* Puts a stored tensor into its place. */
assay_status packed_take(const state_slot *slot, const packed_tensor *t) ASSAY_MUST_CHECK;

/* `length` bytes and an end. Characters that a terminal would obey are replaced. */
void packed_print_name(const unsigned char *bytes, size_t length, char name[PACKED_NAME]);

assay_status npz_read(const packed_file *file, const state_reading *r) ASSAY_MUST_CHECK;
/* How safetensors calls a type. */
const char *safetensors_type(assay_dtype dtype);

assay_status safetensors_read(const packed_file *file, const state_reading *r) ASSAY_MUST_CHECK;

/* Reads the file in the format that its first bytes show. */
assay_status packed_read(const state_reading *r) ASSAY_MUST_CHECK;

#endif
