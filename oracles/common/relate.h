/*
 * Relations that hold for every operator which is a product: each output is linear in each input,
 * and every input takes part in every output. Input 0 and all outputs carry the batch on axis 0.
 * An oracle file lists them with RELATE_PRODUCT among its own.
 */
#ifndef ASSAY_ORACLES_COMMON_RELATE_H
#define ASSAY_ORACLES_COMMON_RELATE_H

#include "assay/relation.h"

/* x = xa + xb with disjoint support; everything but dx adds up, dx does not depend on x. */
assay_status relate_split(const assay_problem *base, int32_t i, assay_problem *derived);
assay_status relate_add(const assay_problem *base, const assay_problem *derived,
                        const assay_results *results, assay_results *want);

/* Input 0 times 4, input 1 times 1/8, cotangents times 2. */
assay_status relate_scale(const assay_problem *base, int32_t i, assay_problem *derived);
assay_status relate_unscale(const assay_problem *base, const assay_problem *derived,
                            const assay_results *results, assay_results *want);

/* Whether powers of two scale the data bit for bit: not where numbers are subnormal, as few are
 * without being asked for in f16. */
bool relate_keeps_bits(const assay_case *c);

/* The batch in reverse order. */
bool relate_has_batch_axis(const assay_case *c);
assay_status relate_reverse(const assay_problem *base, int32_t i, assay_problem *derived);
assay_status relate_unreverse(const assay_problem *base, const assay_problem *derived,
                              const assay_results *results, assay_results *want);

/* The batch in two parts, of which each goes alone; for operators whose first key is the batch. */
bool relate_can_be_cut(const assay_case *c);
assay_status relate_cut_case(const assay_case *base, int32_t i, assay_case *derived);
assay_status relate_cut(const assay_problem *base, int32_t i, assay_problem *derived);
assay_status relate_join(const assay_problem *base, const assay_problem *derived,
                         const assay_results *results, assay_results *want);

#define RELATE_BATCH_SPLIT                                                                         \
    {                                                                                              \
        .name = "batch_split",                                                                     \
        .why = "two parts of the batch give theirs of each row, and add up where all rows do",     \
        .n_derived = 2, .applies = relate_can_be_cut, .derive_case = relate_cut_case,              \
        .derive = relate_cut, .predict = relate_join                                               \
    }

/* Zero padding, for a derive_case that only enlarges extents: every tensor sits in the corner of
 * its larger twin, the rest of which is zero. */
assay_status relate_embed(const assay_problem *base, int32_t i, assay_problem *derived);
assay_status relate_crop(const assay_problem *base, const assay_problem *derived,
                         const assay_results *results, assay_results *want);

#define RELATE_PADDING(enlarge, text)                                                              \
    {                                                                                              \
        .name = "zero_padding", .why = text, .n_derived = 1, .derive_case = enlarge,               \
        .derive = relate_embed, .predict = relate_crop                                             \
    }

/*
 * Adjoints (relate_adjoint.c). Where y is linear in an input x, y = J x + c, dx is Jᵀ dy, and so
 * the sum of h·dx is that of (J h)·dy for every h: forward and backward judge each other. Derived
 * problem i has h in place of an input and 0 in place of c; its y is J h.
 */
enum { RELATE_WHOLE = -1 }; /* no axis */

typedef struct relate_link {
    int32_t in;
    /* Slice i of the input, along one axis, has to do with slice i of y along the other, and with
     * no other slice: each has a sum of its own. RELATE_WHOLE for both: there is one sum. */
    int32_t in_axis, out_axis;
    /* Axes that both have first, before those: each place in them has slices of its own. */
    int32_t leading;
    uint32_t added; /* mask of the inputs that are c */
    int64_t kept;   /* an element of the input that is never left out of h */
    bool alone;     /* all others are left out: for sums that may cancel for every y */
} relate_link;

/* Not where a tensor is empty: there are no sums then. */
bool relate_has_elements(const assay_case *c);
void relate_probe(const assay_problem *base, const relate_link *link, assay_problem *derived);
/* The sums over h·dx, in place of dx. */
void relate_pair_input(const assay_problem *derived, const relate_link *link,
                       assay_results *results);
/* The sums over y·dy as those of h·dx. */
void relate_pair_output(const assay_problem *base, const relate_link *link,
                        const assay_results *derived, assay_results *want);
/* Drops arrays without a link. */
void relate_drop_unlinked(const relate_link *links, int32_t n, assay_results *want);

/* Defines the functions of RELATE_ADJOINT for n inputs whose links `find` tells. */
#define RELATE_LINKS(find, n)                                                                      \
    static assay_status probe(const assay_problem *base, int32_t i, assay_problem *derived) {      \
        const relate_link link = find(base, i);                                                    \
        relate_probe(base, &link, derived);                                                        \
        return ASSAY_OK;                                                                           \
    }                                                                                              \
    static assay_status pair_inputs(const assay_problem *base, const assay_problem *derived,       \
                                    assay_results *results) {                                      \
        for (int32_t i = 0; i < (n); ++i) {                                                        \
            const relate_link link = find(base, i);                                                \
            relate_pair_input(&derived[i], &link, results);                                        \
        }                                                                                          \
        return ASSAY_OK;                                                                           \
    }                                                                                              \
    static assay_status pair_outputs(const assay_problem *base, const assay_problem *derived,      \
                                     const assay_results *results, assay_results *want) {          \
        relate_link link[n];                                                                       \
        (void)derived;                                                                             \
        for (int32_t i = 0; i < (n); ++i) {                                                        \
            link[i] = find(base, i);                                                               \
            relate_pair_output(base, &link[i], &results[i], want);                                 \
        }                                                                                          \
        relate_drop_unlinked(link, n, want);                                                       \
        return ASSAY_OK;                                                                           \
    }                                                                                              \
    enum { LINKS = (n) }

#define RELATE_ADJOINT_WHERE(applies_to)                                                           \
    {                                                                                              \
        .name = "adjoint",                                                                         \
        .why = "y(h) times dy is h times dx, summed, for an h in place of an x that y is linear "  \
               "in: forward and backward agree",                                                   \
        .applies = (applies_to), .n_derived = LINKS, .derive = probe, .reduce = pair_inputs,       \
        .predict = pair_outputs                                                                    \
    }
#define RELATE_ADJOINT RELATE_ADJOINT_WHERE(relate_has_elements)

/* Building blocks. */
void relate_copy(double *to, const double *from, int64_t count);
void relate_copy_data(const assay_problem *base, assay_problem *derived);
void relate_copy_results(const assay_results *from, assay_results *to);

/* Zeroes every element of array t whose index is not i modulo 2. */
void relate_keep_part(assay_arrays *arrays, int32_t t, int32_t i);

/* As relate_scale and relate_unscale, with the inputs from 2 on times 2^further: 0 for factors,
 * RELATE_OUTPUT_POWER for an input that is added to the product of the first two. */
enum { RELATE_OUTPUT_POWER = -1 };
void relate_scale_data(const assay_problem *base, int further, assay_problem *derived);
void relate_unscale_results(const assay_results *results, int further, assay_results *want);

/* `to` is `from`, a tensor of that spec, in reverse order along one axis. */
void relate_reverse_axis(const assay_tensor_spec *spec, int32_t axis, const double *from,
                         double *to);

#define RELATE_PRODUCT_WHERE(keeps_bits)                                                           \
    {.name = "linearity",                                                                          \
     .why = "x = xa + xb: y and the other gradients are the sums of theirs, dx stays",             \
     .n_derived = 2,                                                                               \
     .derive = relate_split,                                                                       \
     .predict = relate_add},                                                                       \
        {.name = "power_of_two_scaling",                                                           \
         .why = "scaling inputs by powers of two scales every result by one, bit for bit",         \
         .exact = true,                                                                            \
         .applies = (keeps_bits),                                                                  \
         .n_derived = 1,                                                                           \
         .derive = relate_scale,                                                                   \
         .predict = relate_unscale},                                                               \
    {                                                                                              \
        .name = "row_permutation", .why = "reversing the batch reverses y and dx, the rest stays", \
        .n_derived = 1, .applies = relate_has_batch_axis, .derive = relate_reverse,                \
        .predict = relate_unreverse                                                                \
    }
#define RELATE_PRODUCT RELATE_PRODUCT_WHERE(relate_keeps_bits)

#endif
