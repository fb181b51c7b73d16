/*
 * A case: one operator's dimensions, attributes, dtype, data and schedule. Its canonical text
 *
 *     kronecker b=16 f=32x32 layers=2 dtype=f64 seed=0
 *
 * is the test ID, the input, the repro line and the corpus line, and it parses back to itself.
 *
 * Grammar: the operator's name, then key=value words in any order, separated by blanks. A value is
 * an integer, a list of integers joined by `x` (`none` for the empty list), a real, or a name.
 * Canonical order: the operator's keys as it lists them, then the common keys
 *
 *     dtype=f64|f32|bf16|f16        (default f32; always written)
 *     math=strict|tf32              (default strict)
 *     fill=normal|uniform|positive|exact|golden|inf|nan|huge|negative|initial
 *          |cancel|wide|denormal|zeros|mixed|single|constant|rows|repeat
 *                                  (default normal; core/fill.h defines them)
 *     exponent=E                    (default 0: the data of one operand are multiplied by 2^E)
 *     operand=J                     (default 0: the operand that exponent= is of)
 *     pad=N                         (default 0: elements between one row's end and the next row)
 *     misalign=N                    (default 0: elements by which tensors are off 256 bytes)
 *     sched=inorder|reverse|random|warp   (default inorder: the simulated device's schedule)
 *     seed=N                        (default 0; always written)
 *
 * A key at its default is left out, except dtype and seed.
 *
 * A call's tensors are numbered: inputs, outputs, cotangents of outputs, gradients of inputs, each
 * group in the order of the signature, those that are not differentiable included. With pad=N > 0,
 * tensor j has N + (j mod 13)·gcd(N, 8) elements between its rows, so that no stride is right for
 * another tensor. misalign=r+64k moves all tensors by r+8k elements where r is 0 to 7, and tensor
 * j alone, by k+1 elements, where r is 8+j: so misalign=3 moves all by three, misalign=8+j tensor j
 * by one, and misalign=136+j tensor j by three.
 *
 * Operands have numbers of their own: inputs, then cotangents, without indices and without outputs
 * that have no cotangent. An element that exponent= makes larger than the dtype's largest number
 * becomes that number.
 */
#ifndef ASSAY_CASE_H
#define ASSAY_CASE_H

#include "assay/dtype.h"
#include "assay/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_op;

enum { ASSAY_MAX_KEYS = 12, ASSAY_MAX_LIST = 16, ASSAY_CASE_TEXT = 512 };
/* misalign of the first tensor alone; the step that moves further: by one element, or by eight
 * where all tensors move. */
enum { ASSAY_MISALIGN_ONE = 8, ASSAY_MISALIGN_STEP = 64 };

typedef enum assay_key_kind {
    ASSAY_KEY_INT,
    ASSAY_KEY_LIST,
    ASSAY_KEY_REAL,
    ASSAY_KEY_NAME, /* one of assay_op.names; at most one key of an operator is of this kind */
} assay_key_kind;

/* One dimension or attribute of an operator, as its oracle file declares it. */
typedef struct assay_key {
    const char *name;
    assay_key_kind kind;
    const char *fallback; /* text of the default; NULL: the key must be given; "": the value
                             of the key before it, which is of the same kind */
    double low, high;     /* legal range of each number, both included; unused for a name */
    const char *doc;      /* one line for `assay list` */
} assay_key;

typedef struct assay_param {
    const char *name;
    int32_t count; /* integers in `value`: 1 for ASSAY_KEY_INT, 0 for ASSAY_KEY_REAL */
    int64_t value[ASSAY_MAX_LIST]; /* ASSAY_KEY_NAME: one, the name's index */
    double real;                   /* ASSAY_KEY_REAL only */
} assay_param;

/* The precision that the caller asks for; a variant never chooses it. */
typedef enum assay_math { ASSAY_STRICT, ASSAY_TF32 } assay_math;

#define ASSAY_MATH_BIT(math) (1u << (unsigned)(math))

/* The part of a case that a variant sees: not its seed, nor how its data were made. */
typedef struct assay_params {
    assay_param item[ASSAY_MAX_KEYS]; /* in the order of the operator's keys */
    int32_t count;
    assay_dtype dtype;
    assay_math math;
} assay_params;

typedef enum assay_fill {
    ASSAY_FILL_NORMAL,
    ASSAY_FILL_UNIFORM,
    ASSAY_FILL_POSITIVE,
    ASSAY_FILL_EXACT,
    ASSAY_FILL_GOLDEN,
    ASSAY_FILL_INF,
    ASSAY_FILL_NAN,
    /* Only for operators that list them in `fills`. */
    ASSAY_FILL_HUGE,
    ASSAY_FILL_NEGATIVE,
    ASSAY_FILL_INITIAL,
    ASSAY_FILL_CANCEL,
    ASSAY_FILL_WIDE,
    ASSAY_FILL_DENORMAL,
    ASSAY_FILL_ZEROS,
    ASSAY_FILL_MIXED,
    ASSAY_FILL_SINGLE,
    ASSAY_FILL_CONSTANT,
    ASSAY_FILL_ROWS,
    ASSAY_FILL_REPEAT,
} assay_fill;
enum { ASSAY_FILLS = 19 };

#define ASSAY_FILL_BIT(fill) (1u << (unsigned)(fill))

typedef enum assay_schedule {
    ASSAY_SCHEDULE_IN_ORDER,
    ASSAY_SCHEDULE_REVERSE,
    ASSAY_SCHEDULE_RANDOM,
    ASSAY_SCHEDULE_WARP,
} assay_schedule;
enum { ASSAY_SCHEDULES = 4 };

typedef struct assay_case {
    const struct assay_op *op;
    assay_params params;
    assay_fill fill;
    int64_t exponent; /* -1100..1100 */
    int64_t operand;  /* 0..63; 0 where exponent is */
    int64_t pad;      /* 0..1024 elements */
    int64_t misalign; /* 0..8191, as above */
    assay_schedule schedule;
    int32_t multiprocessors; /* that plans count against (assay/device.h); not in the text */
    bool forward_only;       /* gradients are not asked for; not in the text */
    uint64_t seed;
} assay_case;

const char *assay_math_name(assay_math math);
const char *assay_fill_name(assay_fill fill);
/* Whether a right kernel rounds only the stored result, once. */
bool assay_fill_is_exact(assay_fill fill);
const char *assay_schedule_name(assay_schedule schedule);

/* Parses and checks one case. ASSAY_ERR_USAGE names the word at fault and the legal values. */
assay_status assay_case_parse(const char *text, assay_case *c) ASSAY_MUST_CHECK;

/* Writes the canonical text; ASSAY_CASE_TEXT bytes always suffice. Returns `text`. */
const char *assay_case_format(const assay_case *c, char text[ASSAY_CASE_TEXT]);

/* Expands words whose values are lists `a,b,c` or ranges `first:last:step` (both ends included; the
 * step is 1 where it is left out) to every combination, the last word varying fastest, and hands
 * each case to `visit` until that fails; ranges are for keys of one integer, and for lists, which
 * then have one element. Either all cases are legal, or it visits no case. `words` holds key=value
 * words, `count` of them, without the operator's name. */
typedef assay_status (*assay_case_visitor)(const assay_case *c, void *context);
assay_status assay_case_expand(const struct assay_op *op, const char *const *words, int32_t count,
                               assay_case_visitor visit, void *context) ASSAY_MUST_CHECK;

/* Named parameters without values, f32 and strict; assay_op.draw gives them values. */
void assay_params_init(const struct assay_op *op, assay_params *params);

/* The parameter called `name`, which the operator must have declared. */
const assay_param *assay_params_find(const assay_params *params, const char *name);
int64_t assay_params_int(const assay_params *params, const char *name);

#ifdef __cplusplus
}
#endif

#endif
