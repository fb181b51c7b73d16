/*
 * Memory that arms and their parent share: for each input set its inputs, cotangents, outputs and
 * gradients, dense and in their own dtypes. One file for all cases; an arm maps it once.
 */
#ifndef ASSAY_BENCH_EXCHANGE_H
#define ASSAY_BENCH_EXCHANGE_H

#include "assay/problem.h"

typedef enum exchange_group {
    EXCHANGE_IN,
    EXCHANGE_COT,
    EXCHANGE_OUT,
    EXCHANGE_GRAD,
} exchange_group;

typedef struct exchange {
    int file;
    unsigned char *memory;
    size_t bytes,
        used; /* of the file, which takes memory only where it is written; of the layout */
    const assay_signature *sig;
    bool backward; /* the layout has cotangents and gradients */
    int32_t sets;
    size_t *offset; /* of a set's tensors from the set's start, group by group */
    size_t set_bytes;
} exchange;

assay_status exchange_init(exchange *e) ASSAY_MUST_CHECK;
void exchange_clear(exchange *e);

/* Forgets its contents, gives its memory back, and makes room for `sets` sets of tensors. `sig`
 * must outlive that. ASSAY_ERR_MEMORY: the host has less. */
assay_status exchange_layout(exchange *e, const assay_signature *sig, bool backward,
                             int32_t sets) ASSAY_MUST_CHECK;

/* How many tensors a group has, absent ones counted; its specs; whether tensor i is there. */
int32_t exchange_count(const exchange *e, exchange_group group);
const assay_tensor_spec *exchange_spec(const exchange *e, exchange_group group, int32_t i);
bool exchange_has(const exchange *e, exchange_group group, int32_t i);

/* Where it lies: bytes from the start of the memory. */
size_t exchange_offset(const exchange *e, int32_t set, exchange_group group, int32_t i);

/* Writes a set's inputs and cotangents. */
void exchange_put(exchange *e, int32_t set, const assay_problem *p);

/* NaN patterns wherever a set's results of that stage go. */
void exchange_blank(exchange *e, int32_t set, assay_stage stage);

/* One result, widened. */
void exchange_get(const exchange *e, int32_t set, exchange_group group, int32_t i, double *values);

#endif
