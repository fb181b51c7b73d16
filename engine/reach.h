/*
 * Draws over the whole legal range: real attributes, layouts, and extents that have to do with each
 * other. An operator's own draw() makes the usual values, of which most cases are made; a kernel
 * may be wrong beyond them.
 */
#ifndef ASSAY_ENGINE_REACH_H
#define ASSAY_ENGINE_REACH_H

#include "assay/op.h"

/* A real of the key's range: one of its ends, one step of fp32 or fp64 beside a power of two or of
 * ten, or log-uniform from either end. Where 0 is legal, small numbers go down to 2^-40 of the
 * largest. */
double reach_real(assay_rng *rng, const assay_key *key);

/* In every second case, every second real attribute gets a value of reach_real(): with all of them
 * at an end, little of a result is left that proves anything. */
void reach_attributes(assay_rng *rng, assay_params *params, const assay_op *op);

/* An extent that has to do with another of the same case: equal, off by up to 8, a small multiple
 * or a part of it. */
int64_t reach_relative(assay_rng *rng, int64_t other);

/* Padding up to the largest that the grammar has, less where rows are many, and every offset within
 * 256 bytes: of all tensors, or of one alone. */
assay_status reach_layout(assay_rng *rng, assay_case *c) ASSAY_MUST_CHECK;

/* misalign= of all tensors by `elements`, and of tensor `number` alone by `elements` > 0. */
int64_t reach_shift_of_all(int64_t elements);
int64_t reach_shift_of_one(int64_t number, int64_t elements);

#endif
