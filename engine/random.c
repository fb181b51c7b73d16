#include "engine/random.h"
#include "engine/reach.h"

#include "assay/problem.h"

#include <string.h>

/* A case's draws lie in a stretch of its own of the operator's stream. A wish that hundreds of them
 * do not meet is one that the operator's draws never do. */
enum { DRAWS_PER_CASE = 1 << 16, MOST_TRIES = 500, FILL_MASK = (1 << ASSAY_FILLS) - 1 };

random_wish random_any(const assay_op *op) {
    return (random_wish){
        .dtypes = op->dtypes, .maths = op->maths, .fills = FILL_MASK, .budget = 65536};
}

static assay_dtype draw_dtype(assay_rng *rng, unsigned mask) {
    int64_t skip = assay_rng_between(rng, 0, __builtin_popcount(mask) - 1);
    int dtype = 0;
    for (;; ++dtype)
        if ((mask >> dtype & 1u) != 0 && skip-- == 0)
            return (assay_dtype)dtype;
}

static int64_t draw_of(assay_rng *rng, const int64_t *values, int64_t count) {
    return values[assay_rng_between(rng, 0, count - 1)];
}

assay_status random_has_exact_data(const assay_op *op, const assay_params *params, bool *has) {
    assay_signature sig;
    const assay_status status = op->signature(params, &sig);
    if (status != ASSAY_OK)
        return status;
    *has = true;
    for (int32_t i = 0; i < sig.n_in; ++i)
        *has = *has && (sig.in[i].exact_limit >= 1 || sig.in[i].dtype == ASSAY_I32);
    for (int32_t i = 0; i < sig.n_out; ++i)
        *has = *has && (!sig.out[i].differentiable || sig.out[i].exact_limit >= 1);
    assay_signature_clear(&sig);
    return ASSAY_OK;
}

/* `own`: the operator's mask. Data that prove nothing, as those of `initial`, are not drawn. */
static assay_fill draw_fill(assay_rng *rng, unsigned own) {
    static const assay_fill families[] = {
        ASSAY_FILL_HUGE,     ASSAY_FILL_NEGATIVE, ASSAY_FILL_CANCEL, ASSAY_FILL_WIDE,
        ASSAY_FILL_DENORMAL, ASSAY_FILL_ZEROS,    ASSAY_FILL_MIXED,  ASSAY_FILL_SINGLE,
        ASSAY_FILL_CONSTANT, ASSAY_FILL_ROWS,     ASSAY_FILL_REPEAT};
    int64_t fills[ASSAY_FILLS] = {ASSAY_FILL_NORMAL, ASSAY_FILL_UNIFORM, ASSAY_FILL_POSITIVE,
                                  ASSAY_FILL_EXACT};
    int64_t count = 4;
    for (size_t i = 0; i < sizeof families / sizeof *families; ++i)
        if ((own & ASSAY_FILL_BIT(families[i])) != 0)
            fills[count++] = families[i];
    return (assay_fill)draw_of(rng, fills, count);
}

/* One operand in the whole range of its dtype. What TF32 cuts of small numbers is all of them, and
 * other families have sizes of their own. */
static assay_status draw_exponent(assay_rng *rng, assay_case *c) {
    enum { SELDOM = 8, AT_THE_END = 4 };
    static const int64_t low[ASSAY_DTYPES] = {-1074, -149, -133, -24};
    static const int64_t high[ASSAY_DTYPES] = {1024, 128, 128, 16};
    assay_signature sig;
    const bool plain = c->fill == ASSAY_FILL_NORMAL || c->fill == ASSAY_FILL_UNIFORM ||
                       c->fill == ASSAY_FILL_POSITIVE;
    if (assay_rng_between(rng, 0, SELDOM - 1) != 0 || !plain || c->params.math != ASSAY_STRICT ||
        !c->op->outside)
        return ASSAY_OK;
    const assay_status status = c->op->signature(&c->params, &sig);
    if (status != ASSAY_OK)
        return status;
    const assay_dtype dtype = c->params.dtype;
    c->exponent = assay_rng_between(rng, 1, AT_THE_END) == 1
                      ? high[dtype]
                      : assay_rng_between(rng, low[dtype], high[dtype]);
    if (c->exponent != 0)
        c->operand = assay_rng_between(rng, 0, assay_problem_operands(&sig) - 1);
    assay_signature_clear(&sig);
    return ASSAY_OK;
}

/* Some operators say that attributes mean nothing in some cases: these keep the usual ones. */
static assay_status draw_attributes(assay_rng *rng, const random_wish *wish, assay_case *c) {
    assay_params reached = c->params;
    if (!wish->usual)
        reach_attributes(rng, &reached, c->op);
    const assay_status status = c->op->legal(&reached);
    if (status == ASSAY_OK)
        c->params = reached;
    return status == ASSAY_ERR_USAGE ? c->op->legal(&c->params) : status;
}

static assay_status draw_layout(assay_rng *rng, const random_wish *wish, assay_case *c) {
    static const int64_t pads[] = {0, 0, 1, 3, 8};
    static const int64_t shifts[] = {0, 0, 0, 0, 1, 5, 8, 9, 10, 11, 12, 13};
    c->pad = draw_of(rng, pads, 5);
    c->misalign = draw_of(rng, shifts, 12);
    return wish->usual ? ASSAY_OK : reach_layout(rng, c);
}

static assay_status draw_case(const assay_op *op, const random_wish *wish, assay_rng *rng,
                              int64_t index, assay_case *c) {
    *c = (assay_case){.op = op, .seed = (uint64_t)index};
    assay_params_init(op, &c->params);
    c->params.dtype = draw_dtype(rng, wish->dtypes);
    c->fill = draw_fill(rng, op->fills);
    c->schedule = (assay_schedule)assay_rng_between(rng, 0, ASSAY_SCHEDULES - 1);
    op->draw(rng, wish->budget, &c->params);
    /* TF32 knows too little of numbers that are large, cancel or are subnormal for their results to
     * prove anything. */
    if (c->params.math == ASSAY_TF32 && c->fill != ASSAY_FILL_WIDE && c->fill != ASSAY_FILL_ZEROS &&
        (op->fills & ASSAY_FILL_BIT(c->fill)) != 0)
        c->fill = ASSAY_FILL_NORMAL;
    assay_status status = draw_attributes(rng, wish, c);
    if (status == ASSAY_OK)
        status = draw_layout(rng, wish, c);
    bool exact = false;
    if (status == ASSAY_OK)
        status = random_has_exact_data(op, &c->params, &exact);
    if (c->fill == ASSAY_FILL_EXACT && !exact)
        c->fill = ASSAY_FILL_NORMAL;
    return status == ASSAY_OK ? draw_exponent(rng, c) : status;
}

static bool grants(const random_wish *wish, const assay_case *c) {
    return (wish->maths & ASSAY_MATH_BIT(c->params.math)) != 0 &&
           (wish->fills & ASSAY_FILL_BIT(c->fill)) != 0;
}

assay_status random_case(const assay_op *op, const random_wish *wish, uint64_t seed, int64_t index,
                         assay_case *c) {
    assay_rng rng = {.seed = seed,
                     .stream = assay_rng_stream(op->name),
                     .next = (uint64_t)index * DRAWS_PER_CASE};
    for (int tries = 0; tries < MOST_TRIES; ++tries) {
        const assay_status status = draw_case(op, wish, &rng, index, c);
        if (status != ASSAY_OK || grants(wish, c))
            return status;
    }
    return assay_fail(ASSAY_ERR_UNSUPPORTED, "%s: no random case fits the key=value words",
                      op->name);
}

assay_status random_cases(const assay_op *op, uint64_t seed, int64_t count,
                          assay_case_visitor visit, void *context) {
    const random_wish any = random_any(op);
    for (int64_t i = 0; i < count; ++i) {
        assay_case c;
        assay_status status = random_case(op, &any, seed, i, &c);
        if (status == ASSAY_OK)
            status = visit(&c, context);
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}
