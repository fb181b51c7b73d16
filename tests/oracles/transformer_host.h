/*
 * A kernel of `transformer` modelled on the host, right or with one fault: the oracle's own graph,
 * products summed in fp32, every stored tensor rounded to its type, and AdamW in fp32.
 */
#ifndef ASSAY_TESTS_ORACLE_TRANSFORMER_HOST_H
#define ASSAY_TESTS_ORACLE_TRANSFORMER_HOST_H

#include "oracles/transformer/graph.h"

typedef struct host_fault {
    const char *name;
    void (*edit)(transformer_graph *g);         /* of the model; NULL: none */
    void (*adamw)(float *g, float p, float wd); /* of the gradient, before AdamW */
    bool uncorrected;                           /* m without its bias correction */
    bool training;                              /* shows itself in training only */
    bool strict;                                /* so small that it needs strict f32 */
} host_fault;

/* Which bits of a product's operands count. */
typedef enum host_bits { HOST_ALL, HOST_TF32, HOST_BF16 } host_bits;

/* What such a kernel gives for the problem. */
void host_transformer(const assay_problem *p, const host_fault *fault, host_bits bits,
                      assay_results *got);

extern const host_fault host_faults[];
extern const int32_t host_n_faults;

/* For faults of one's own: the node that is the `which`-th use of an operator, from 0. */
transformer_node *host_use_of(transformer_graph *g, const char *name, int32_t which);

/* Queries of the first layer see one key more. */
void host_mask_off_by_one(transformer_graph *g);

#endif
