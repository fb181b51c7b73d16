/*
 * Planted faults: v1 of an operator, but one element of a result has the wrong sign where a
 * predicate of the case or of its data holds. The predicate is drawn: a size above a threshold, an
 * attribute beyond one, a tensor at an offset, a block far back, sizes that have to do with each
 * other, equal rows, a special value. The share of such faults that cases show measures how well a
 * set, or a search, covers the legal cases.
 */
#ifndef ASSAY_MUTANTS_PLANTED_H
#define ASSAY_MUTANTS_PLANTED_H

#include "assay/device.h"
#include "assay/problem.h"

typedef enum planted_class {
    PLANTED_SIZE,      /* a key that makes tensors larger is at least `at`; or a list so long */
    PLANTED_ATTRIBUTE, /* another key is at least, or at most, `at` */
    PLANTED_OFFSET,    /* a tensor starts at that byte behind a 256-byte boundary */
    PLANTED_BLOCK,     /* only that block of 256 elements is wrong */
    PLANTED_RELATION,  /* one size is `times` another and `apart` */
    PLANTED_ROWS,      /* rows of an input are equal */
    PLANTED_VALUE,     /* an input has a special value */
} planted_class;
enum { PLANTED_CLASSES = 7 };
const char *planted_class_name(planted_class kind); /* "size" */

typedef struct planted {
    const assay_op *op;
    planted_class kind;
    int32_t key, other; /* of the operator's; -1: none */
    double at;
    bool below, axes; /* an attribute at most `at`; a list's length */
    int64_t times, apart, block;
    int32_t tensor, way; /* which tensor; which rows are equal, which value is special */
    uint64_t spot;       /* chooses the result and its element */
    char text[128];      /* "eps <= 3.1e-09" */
} planted;

/* Where faults are planted: at each key once, and at each other class. `key` of the others: -1. */
typedef struct planted_site {
    planted_class kind;
    int32_t key;
} planted_site;
enum { PLANTED_SITES = ASSAY_MAX_KEYS + PLANTED_CLASSES };
int32_t planted_sites(const assay_op *op, planted_site site[PLANTED_SITES]);

/* Fault `index` of a site, a function of the operator, the site, `seed` and `index` alone. */
void planted_draw(const assay_op *op, planted_site site, uint64_t seed, int64_t index, planted *p);

/* Whether the predicate needs the case's data. */
bool planted_needs_data(const planted *p);

/* Whether it holds for the case; `problem` may be NULL where it needs no data. `sig`: the case's.
 */
bool planted_holds(const planted *p, const assay_case *c, const assay_signature *sig,
                   const assay_problem *problem);

/* Whether `device`, the simulated one, finds the fault with that case, for which its predicate
 * holds. */
assay_status planted_is_found(const planted *p, const assay_case *c, const assay_device *device,
                              bool *found) ASSAY_MUST_CHECK;

#endif
