/* attention: how a kernel rounds, and what the bounds are made of in words; for both oracles. */
#include "oracles/attention/attention.h"
#include "oracles/common/bound.h"

#include <math.h>
#include <stdio.h>

/* Sums are of so many products at most, where these underflow: each loses half a subnormal. */
static const double subnormal_terms = 0x1p13;

attention_rule attention_rule_of(const assay_rounding *r) {
    const double fp64 = assay_dtype_unit(ASSAY_F64);
    const assay_dtype accumulator = r->u == fp64 ? ASSAY_F64 : ASSAY_F32;
    const double normal = assay_dtype_denorm_min(accumulator) / (2 * assay_dtype_unit(accumulator));
    return (attention_rule){
        .u = r->u + fp64,
        .u_fp64 = fp64,
        .u_store = r->u_out,
        .tiny_store = r->tiny + subnormal_terms / 2 * assay_underflow(r),
        .u_operand = r->u_out,
        .tiny_weight = 4 * normal + (r->u_out > 0 ? r->tiny / 2 : 0),
        .cut = r->product,
        .tensor_core = r->tensor_core,
        .independent = r->independent,
        .zero_mean = r->zero_mean,
    };
}

static const char *operands_of(const attention_rule *r) {
    return r->cut > 0         ? ", operands cut to TF32"
           : r->u_operand > 0 ? ", P and dS rounded to the stored type, as the result is"
                              : "";
}

void attention_why_forward(const attention_rule *r, char o[ASSAY_WHY], char lse[ASSAY_WHY]) {
    snprintf(o, ASSAY_WHY,
             "sum of P_ij (v_jd - o_id) eps_ij, eps from the sum of q_il k_jl, exp and the sum "
             "over j, %s, u = 2^%.0f%s",
             r->independent ? "a walk over j" : "absolute values", log2(r->u), operands_of(r));
    snprintf(
        lse, ASSAY_WHY,
        "sum of P_ij eps_ij, eps from the sum of q_il k_jl, and of the sum over j, u = 2^%.0f%s",
        log2(r->u), operands_of(r));
}

void attention_why_backward(const attention_rule *r, char dq[ASSAY_WHY], char dk[ASSAY_WHY],
                            char dv[ASSAY_WHY]) {
    const char *sum = r->zero_mean ? "a walk" : "absolute values";
    snprintf(dq, ASSAY_WHY,
             "sum over j of dS_ij k_jd, dS from P, do v and Delta of the kernel's o and lse, %s, "
             "u = 2^%.0f%s",
             sum, log2(r->u), operands_of(r));
    snprintf(dk, ASSAY_WHY,
             "sum over i of dS_ij q_id, dS from P, do v and Delta of the kernel's o and lse, %s, "
             "u = 2^%.0f%s",
             sum, log2(r->u), operands_of(r));
    snprintf(dv, ASSAY_WHY, "sum over i of P_ij do_id, P from the kernel's lse, %s, u = 2^%.0f%s",
             sum, log2(r->u), operands_of(r));
}
