/* attention: what the files of its oracle share. oracles/attention/attention.c has the definition.
 */
#ifndef ASSAY_ORACLES_ATTENTION_ATTENTION_H
#define ASSAY_ORACLES_ATTENTION_ATTENTION_H

#include "assay/op.h"
#include "assay/relation.h"
#include "oracles/attention/definition.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { ATTENTION_Q, ATTENTION_K, ATTENTION_V, ATTENTION_INPUTS };
enum { ATTENTION_O, ATTENTION_LSE, ATTENTION_OUTPUTS };
enum {
    ATTENTION_KEY_B,
    ATTENTION_KEY_H,
    ATTENTION_KEY_SQ,
    ATTENTION_KEY_SK,
    ATTENTION_KEY_D,
    ATTENTION_KEY_CAUSAL
};

attention_sizes attention_sizes_of(const assay_params *params);

/* Queries are taken in chunks, so that no matrix of scores has more than about 2^18 elements. */
int64_t attention_chunk(const attention_sizes *s);

/* Turns a row of q·k, sk long, into the weights P, and returns lse. */
double attention_softmax(const attention_sizes *s, int64_t query, double *row);

assay_status attention_forward(const assay_oracle_args *args, assay_arrays *result);
assay_status attention_backward(const assay_oracle_args *args, assay_arrays *result);
assay_status attention_forward_plain(const assay_oracle_args *args, assay_arrays *result);
assay_status attention_backward_plain(const assay_oracle_args *args, assay_arrays *result);

assay_status attention_forward_bound(const assay_oracle_args *args, const assay_rounding *rounding,
                                     const assay_arrays *want, assay_bounds *bounds);
assay_status attention_backward_bound(const assay_oracle_args *args, const assay_rounding *rounding,
                                      const assay_arrays *want, assay_bounds *bounds);

/* How the bounds see a kernel, and their `why` lines. */
attention_rule attention_rule_of(const assay_rounding *rounding);
void attention_why_forward(const attention_rule *r, char o[ASSAY_WHY], char lse[ASSAY_WHY]);
void attention_why_backward(const attention_rule *r, char dq[ASSAY_WHY], char dk[ASSAY_WHY],
                            char dv[ASSAY_WHY]);

enum { ATTENTION_RELATIONS = 12 };
extern const assay_relation attention_relations[ATTENTION_RELATIONS];

#ifdef __cplusplus
}
#endif

#endif
