/* Registering tests for every case of an operator. */
#ifndef ASSAY_SUITE_H
#define ASSAY_SUITE_H

#include "assay/device.h"
#include "assay/op.h"
#include "assay/relation.h"

/* Builds that instrument accesses (ASan, the race recorder) take many times as long for each test.
 * They leave out what repeats the accesses of other tests. */
#ifdef ASSAY_INSTRUMENTED
enum { SUITE_INSTRUMENTED = 1 };
#else
enum { SUITE_INSTRUMENTED = 0 };
#endif

/* Every night tests leave nothing out that only costs time. */
#ifdef ASSAY_ALL_CASES
enum { SUITE_ALL_CASES = 1 };
#else
enum { SUITE_ALL_CASES = 0 };
#endif

enum { SUITE_VARIANTS = 8 };

/* Elements of a case that takes longer to record than all others: assay check leaves it out, too
 * (variant_run.c). */
enum { SUITE_LARGE = 1 << 16 };

/* One variant of one operator on one case: the context of a registered test. */
typedef struct suite_item {
    assay_case c;
    assay_set set;
    char variant[16];                  /* "": the test is not about one variant */
    char together[SUITE_VARIANTS][16]; /* but about these */
    int32_t n_together;
    const char *device; /* "sim", "cuda" */
    bool first;         /* of its operator's cases */
    bool smoke;         /* has the label smoke: cases of that set, unless a test says no */
    bool simulated;     /* as assay_device has it */
    bool library;       /* as assay_variant has it */
    const assay_relation *relation; /* property tests only */
} suite_item;

/* For tests of `suite`: calls `add` for every case of the sets from..to (smoke < ci < nightly <
 * edge), every variant and every device that this build has. Tests for cuda skip themselves, with a
 * reason, where there is no GPU. */
void suite_visit(const char *suite, assay_set from, assay_set to,
                 void (*add)(const suite_item *item));

/* The same for one case. */
void suite_visit_variants(const assay_case *c, assay_set set, void (*add)(const suite_item *item));

/* Of all inputs and outputs; 0 where the case has none. */
int64_t suite_elements(const assay_case *c);

/* A copy that lives as long as the program: what a registered test may refer to. */
suite_item *suite_keep(const suite_item *item);

/* A test named "<op>/<variant> <words> on <device>" ("<op> <words> …" without a variant), preceded
 * by `prefix` if there is one, with `labels` and those that follow from the item: the operator,
 * smoke, sim or gpu. */
void suite_register(const char *suite, const char *prefix, const char *labels,
                    const suite_item *item, void (*run)(void *item));

/* The device and variant of an item. Skips or fails the running test when it cannot be had. */
const assay_device *suite_device(const suite_item *item);
const assay_variant *suite_variant(const suite_item *item, const assay_device *device);

#endif
