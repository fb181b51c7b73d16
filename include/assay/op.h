/*
 * An operator: its definition as data and functions. One oracle file defines one `assay_op`; the
 * line ASSAY_OP(name, variants) in oracles/ops.def registers it. No other file lists operators.
 * An operator that is not built in comes in a shared object (operator.h).
 */
#ifndef ASSAY_OP_H
#define ASSAY_OP_H

#include "assay/case.h"
#include "assay/compare.h"
#include "assay/rng.h"
#include "assay/status.h"
#include "assay/tensor.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ASSAY_TENSOR_NAME = 48, ASSAY_WHY = 240 };

typedef enum assay_stage { ASSAY_FORWARD, ASSAY_BACKWARD } assay_stage;
enum { ASSAY_STAGES = 2 };
const char *assay_stage_name(assay_stage stage); /* "forward", "backward" */

/* One input or output of the forward function. */
typedef struct assay_tensor_spec {
    char name[ASSAY_TENSOR_NAME];
    assay_dtype dtype;
    int32_t rank;
    int32_t inner; /* see tensor.h */
    int64_t shape[ASSAY_MAX_RANK];
    double scale;        /* standard deviation of its random data (of the cotangent's: 1) */
    double exact_limit;  /* fill=exact: largest magnitude of its (its cotangent's) integers;
                            below 1: this case has no exact data */
    bool differentiable; /* an input with a gradient, an output with a cotangent */
    int64_t indices;     /* an input of dtype i32: its random elements are in 0..indices-1 */
    bool magnitudes;     /* its random data are absolute values, whatever the fill */
    bool series;         /* an output of few elements, such as a loss by step: reports show them */
} assay_tensor_spec;

int64_t assay_spec_count(const assay_tensor_spec *spec);

/* The tensors of one case. The gradient of input `x` and the cotangent of output `y` have the same
 * shape and dtype and are called `dx` and `dy`. */
typedef struct assay_signature {
    int32_t n_in, n_out;
    assay_tensor_spec *in, *out; /* one allocation, freed by assay_signature_clear */
} assay_signature;

assay_status assay_signature_init(assay_signature *sig, int32_t n_in,
                                  int32_t n_out) ASSAY_MUST_CHECK;
void assay_signature_clear(assay_signature *sig);

/* Whether any input has a gradient: otherwise no kernel is asked for backward. */
bool assay_signature_has_gradients(const assay_signature *sig);

/* Leaves no input with a gradient: backward is not asked for. */
void assay_signature_drop_gradients(assay_signature *sig);

/* The operator's signature of a case, without gradients where it is forward_only. */
assay_status assay_case_signature(const assay_case *c, assay_signature *sig) ASSAY_MUST_CHECK;

/* Dense row-major fp64 arrays on the host; data[i] is NULL where a tensor has no array. */
typedef struct assay_arrays {
    int32_t count;
    int64_t *size;
    double **data;
} assay_arrays;

assay_status assay_arrays_init(assay_arrays *arrays, int32_t count) ASSAY_MUST_CHECK;
/* Allocates data[i], zeroed. */
assay_status assay_arrays_add(assay_arrays *arrays, int32_t i, int64_t size) ASSAY_MUST_CHECK;
void assay_arrays_clear(assay_arrays *arrays);

/* An oracle's arguments. Inputs and cotangents are already rounded to the case's dtype. */
typedef struct assay_oracle_args {
    const assay_params *params;
    const assay_signature *sig;
    const assay_arrays *in;  /* n_in */
    const assay_arrays *out; /* n_out, the forward result; NULL in forward */
    const assay_arrays *cot; /* n_out, absent where not differentiable; NULL in forward */
} assay_oracle_args;

/* Writes every element of result->data[i] where it is present: n_out outputs in forward, n_in
 * gradients in backward. */
typedef assay_status (*assay_oracle)(const assay_oracle_args *args, assay_arrays *result);

/* How the kernel under judgement rounds; bound.h turns it into error factors. */
typedef struct assay_rounding {
    double u;         /* unit roundoff of the accumulator */
    double u_out;     /* unit roundoff of stored results; 0 when they are stored as accumulated */
    double tiny;      /* smallest subnormal of the accumulator and of the stored type, the larger */
    bool independent; /* random data: rounding errors may be taken as independent */
    bool zero_mean;   /* and its terms have random signs: partial sums are random walks */
    bool tensor_core; /* products may run on tensor cores, which truncate */
    double product;   /* relative error of one product of truncated operands; 0: taken whole */
} assay_rounding;

/* Per-element bounds on |kernel - oracle|, with a line for each tensor saying why. */
typedef struct assay_bounds {
    assay_arrays element;
    char (*why)[ASSAY_WHY];     /* element.count lines */
    char (*outside)[ASSAY_WHY]; /* element.count lines, "" for most: why the definition says nothing
                                   of the tensor on these data. Its bounds are not compared. */
    bool **nan_too;             /* element.count arrays, NULL for most: elements that may also be
                                   NaN, because a right kernel may multiply an Inf or a NaN by the
                                   0 of a masked pair */
    bool *any_infinity;         /* element.count: where the answer is not finite, any Inf or NaN is
                                   right, because sums of products meet a 0, or an Inf of another
                                   sign, in some orders alone */
} assay_bounds;

/* Allocates nan_too[i], all false, unless it is there already. */
assay_status assay_bounds_allow_nan(assay_bounds *bounds, int32_t i) ASSAY_MUST_CHECK;

/* assay_compare() of tensor i with its bounds. Mistrusted where the definition says nothing of it;
 * the reason then lives as long as the bounds. */
assay_comparison assay_compare_bounded(assay_dtype dtype, const double *got,
                                       const assay_arrays *want, const assay_bounds *bounds,
                                       int32_t i);

/* Writes bounds->element beside every array of `want`, the oracle's result for these arguments
 * (the outputs in forward, the gradients in backward), and bounds->why. */
typedef assay_status (*assay_bounder)(const assay_oracle_args *args, const assay_rounding *rounding,
                                      const assay_arrays *want, assay_bounds *bounds);

/* The least work of one call, for rooflines: a kernel that is faster than this work allows has not
 * done it. */
typedef struct assay_work {
    double read,
        written;  /* bytes: each element of an operand that must be looked at, of a result */
    double flops; /* as the field counts the definition; a multiply-add is two */
    double least; /* of the cheapest way known to the same answers; at most `flops` */
} assay_work;

struct assay_relation; /* relation.h */
struct assay_problem;  /* problem.h */

typedef enum assay_set { ASSAY_SMOKE, ASSAY_CI, ASSAY_NIGHTLY, ASSAY_EDGE, ASSAY_BENCH } assay_set;
enum { ASSAY_SETS = 5 };
const char *assay_set_name(assay_set set);

/* A group of cases: key=value words with lists and ranges, as on the command line. `edge` cases
 * are legal but degenerate (an empty axis): a kernel must survive them, but they prove no number,
 * so their verdict is `mistrusted`. `bench` cases are the shapes that benchmarks time: for a GPU.
 */
typedef struct assay_case_group {
    assay_set set;
    const char *words;
} assay_case_group;

typedef struct assay_op {
    const char *name;
    const char *forward_formula, *backward_formula; /* one line each, for `assay list` */
    const assay_key *keys;
    int32_t n_keys;

    /* Legal values of its key of kind ASSAY_KEY_NAME, then NULL. */
    const char *const *names;

    bool own_forward; /* backward computes its forward anew: a call of both is backward's alone */
    bool multilinear; /* affine in each input separately: gradient checks rely on it */
    bool surrogate;   /* backward is defined not to be the derivative of forward, as for
                         straight-through estimators. Gradient checks leave it out. */
    /* Percent of the cases of a dtype, the set's and the secret ones each, that a variant must run
     * for a certificate: the rest it may decline, by shape. 0: 75. */
    int32_t least_share;

    unsigned dtypes; /* ASSAY_DTYPE_BIT mask */
    unsigned maths;  /* ASSAY_MATH_BIT mask */
    unsigned fills;  /* ASSAY_FILL_BIT mask of those that not every operator has, see case.h */

    /* The first key is the extent of one axis of some tensors, the rows, and of nothing else. A row
     * of a result depends on the same row of inputs and cotangents, and on tensors that have no
     * rows; the gradients of these are sums over the rows. A large case can then be made up of few
     * different rows (engine/sample.h). */
    bool by_rows;

    /* Checks conditions that key ranges cannot state, and puts the parameters in canonical form. */
    assay_status (*legal)(assay_params *params);
    assay_status (*signature)(const assay_params *params, assay_signature *sig);

    /* backward, its twin and its bound are NULL where no input has a gradient. */
    assay_oracle forward, backward;             /* fp64, products through CBLAS */
    assay_oracle forward_plain, backward_plain; /* the twin: loops as the definition is written */
    assay_bounder forward_bound, backward_bound;

    /* Changes the data of a fresh problem of any fill but golden, if random data of one scale do
     * not suit the operator. The changed data are rounded to each tensor's dtype. NULL: no change.
     */
    assay_status (*data)(struct assay_problem *p);

    /* Turns normal data into those of a fill of `fills`, and does nothing for a fill that is the
     * same for all operators (core/fill.h). NULL: all of `fills` are. */
    assay_status (*dress)(struct assay_problem *p);

    /* Why a kernel that ignores part of its inputs would be right on these data, as a text that
     * outlives the call; a pass is then `mistrusted`. It returns NULL when no such reason is known.
     * Asked only for cases that are too large to find that out (engine/trivial.h). NULL: never
     * asked. */
    const char *(*mistrust)(const struct assay_problem *p);

    /* Writes a line for each tensor of which the definition says nothing on these data
     * (assay_bounds.outside), and marks what may be NaN or another Inf (nan_too, any_infinity).
     * NULL: the definition always holds, and has one answer. */
    assay_status (*outside)(const assay_oracle_args *args, const assay_rounding *rounding,
                            assay_bounds *out, assay_bounds *grad);

    /* Counts flops and least, and corrects read and written, which come as the bytes of all inputs
     * (backward: and cotangents) and of all results. */
    void (*work)(const assay_params *params, const assay_signature *sig, assay_stage stage,
                 assay_work *work);

    /* Draws random legal parameters whose work is at most about `budget` multiply-adds. dtype is
     * already chosen; math is strict and may be changed to another of `maths`. */
    void (*draw)(assay_rng *rng, double budget, assay_params *params);

    /* How many times longer its cases take on the simulated device than those of most operators
     * with as many multiply-adds, because it has many launches or barriers. 0 stands for 1. */
    double overhead;

    /* The cost, on the simulated device, of the blocks of threads that kernels launch for such
     * parameters, even if a block has little to do. The unit is the time of one element in memory
     * (some 0.1 us). NULL: no more than `overhead` says of each row. assay fuzz keeps an expensive
     * case in proportion less often. */
    double (*blocks)(const assay_params *params);

    const struct assay_relation *relations;
    int32_t n_relations;
    const assay_case_group *cases;
    int32_t n_cases;
} assay_op;

/* The work of one call of that stage. */
assay_status assay_op_work(const assay_op *op, const assay_params *params, assay_stage stage,
                           assay_work *work) ASSAY_MUST_CHECK;

/* The registry: the operators of oracles/ops.def in its order, then those that were added. */
int32_t assay_op_count(void);
const assay_op *assay_op_at(int32_t i);
/* Adds an operator, which must outlive its use: its cases can be parsed then. ASSAY_ERR_USAGE: it
 * lacks a member that it needs, or its name is taken. Call it before any thread uses the
 * registry. */
assay_status assay_op_add(const assay_op *op) ASSAY_MUST_CHECK;
void assay_op_remove(const assay_op *op);
/* The operator of that name (length n); NULL: there is no such operator. */
const assay_op *assay_op_find(const char *name, size_t n);

/* Hands each case of one group to `visit`. */
assay_status assay_op_visit_group(const assay_op *op, const assay_case_group *group,
                                  assay_case_visitor visit, void *context) ASSAY_MUST_CHECK;

/* Hands each case of `set` to `visit` (a set holds the smaller ones: nightly ⊇ ci ⊇ smoke). */
assay_status assay_op_visit_set(const assay_op *op, assay_set set, assay_case_visitor visit,
                                void *context) ASSAY_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
