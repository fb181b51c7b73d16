/*
 * A tensor's memory on a device, with guard zones:
 *
 *     | guard | misalignment | row | pad | row | pad | … | row | guard |
 *
 * `image` is a host copy of all of it. Before a call, all memory that a kernel may not write, or
 * must still write, holds a NaN pattern that no computation produces; afterwards the image taken
 * back shows the changes.
 *
 * On a device with streams, inputs arrive late and outputs are copied early: both in the order of
 * the stream that the variant was given, behind a pause. A variant that works on another stream
 * reads NaN, or its outputs are not there yet. Very large tensors are left out of this.
 *
 * The tensors of a whole (sample.h) have no image: their contents are uploaded and downloaded in
 * pieces (pieces.h), and a fingerprint of them stays.
 */
#ifndef ASSAY_ENGINE_BUFFER_H
#define ASSAY_ENGINE_BUFFER_H

#include "assay/device.h"
#include "assay/op.h"
#include "engine/downloads.h"

typedef struct buffer {
    const assay_device *device;
    char name[ASSAY_TENSOR_NAME + 1];
    unsigned char *image;  /* host, `bytes` */
    unsigned char *memory; /* device, `bytes` */
    unsigned char *staged; /* device, `bytes`: a late input, an early output; NULL: neither */
    unsigned char *taken;  /* host, `bytes`: the memory behind the call, until it is checked */
    unsigned char *early;  /* the same of an early output */
    size_t bytes, first;   /* of all; from the start to the first element */
    uint64_t fingerprint;  /* of all bytes, where there is no image */
    assay_tensor tensor;   /* the view that a kernel gets; data in device memory */
} buffer;

/* Elements between a tensor's rows, and from 256 bytes' alignment to its first. */
typedef struct spacing {
    int64_t pad, shift;
} spacing;

/* That of a call's tensor of that number (case.h tells the rules). */
spacing buffer_spacing(const assay_case *c, int32_t number);

/* A view with no data: for `supports` and `workspace`. */
assay_tensor buffer_layout(const assay_tensor_spec *spec, spacing apart);

/* Allocates and uploads. `values` fills the rows, dense and already rounded; NULL leaves the NaN
 * pattern (an output). */
assay_status buffer_init(buffer *b, const assay_device *device, const assay_tensor_spec *spec,
                         const char *name, spacing apart, const double *values) ASSAY_MUST_CHECK;
void buffer_clear(buffer *b);

/* Allocates the memory alone: no image, nothing staged, nothing uploaded. */
assay_status buffer_reserve(buffer *b, const assay_device *device, const assay_tensor_spec *spec,
                            const char *name, spacing apart) ASSAY_MUST_CHECK;

/* Marks guards, misalignment and padding as out of bounds, or usable again. */
void buffer_guard(const buffer *b, bool on);

/* From the start of the memory to an element. */
size_t buffer_offset(const buffer *b, int64_t element);

/* Elements first..last of a host copy of the memory, which begins at byte `from`: stores `narrow`,
 * dense, or, where that is NULL, widens them into `wide`. */
void buffer_convert(const buffer *b, unsigned char *copy, size_t from, int64_t first, int64_t last,
                    const double *narrow, double *wide);

/* Queues the arrival of an input, and the copy of an output. */
assay_status buffer_arrive(buffer *b) ASSAY_MUST_CHECK;
assay_status buffer_depart(buffer *b) ASSAY_MUST_CHECK;

/* Takes the memory back in two steps, so that the buffers of a call wait for the device once: what
 * to download, at most BUFFER_DOWNLOADS, added to `list`; and, when that has been done, a check
 * that nothing changed outside the rows, and for `input` nothing at all. ASSAY_ERR_KERNEL names the
 * value and the place. */
enum { BUFFER_DOWNLOADS = 2 };
assay_status buffer_ask_back(buffer *b, bool input, downloads *list) ASSAY_MUST_CHECK;
assay_status buffer_take_back(buffer *b, bool input) ASSAY_MUST_CHECK;

/* The rows of the image, widened and dense. */
void buffer_widen(const buffer *b, double *values);

#endif
