/*
 * A kernel under test: a shared object, in a process of its own, and the questions that it is
 * asked.
 */
#ifndef ASSAY_MUTANTS_SUBJECT_H
#define ASSAY_MUTANTS_SUBJECT_H

#include "assay/device.h"
#include "assay/relation.h"
#include "engine/isolate.h"
#include "mutants/build.h"
#include "mutants/source.h"
#include "mutants/test_case.h"

/* Limits of one run, and where a second one or instruments have a right to more. */
enum { SUBJECT_SECONDS = 3, SUBJECT_PATIENCE = 10 };

typedef struct subject {
    char object[BUILD_FOLDER + 128], guest[BUILD_FOLDER + 32];
    assay_isolation how;
    const assay_device *device;
    const assay_variant *variant;
} subject;

assay_status subject_open(subject *s, const builder *b, build_level level, const source_user *user,
                          const char *object, double seconds) ASSAY_MUST_CHECK;
void subject_close(subject *s);
/* The limit for the first question at that level. */
double subject_seconds(build_level level);

typedef enum question_kind {
    ASK_NUMBERS,     /* of a case: right? */
    ASK_ACCESSES,    /* of a case: does it run? */
    ASK_RELATION,    /* does it hold? */
    ASK_DETERMINISM, /* the same bits again? */
    ASK_GOLDEN,      /* as the golden file says? */
} question_kind;

typedef struct question {
    question_kind kind;
    test_case *test; /* of numbers and accesses */
    assay_case c;    /* of the others */
    const assay_relation *relation;
} question;

typedef struct answer {
    mutant_layer layer; /* LAYER_NONE: nothing is wrong */
    char reason[LAYER_REASON];
} answer;

/* An error is trouble of ours, never the kernel's. */
assay_status subject_ask(subject *s, const question *q, answer *a) ASSAY_MUST_CHECK;

/* The question, as a text. */
void question_text(const question *q, char text[ASSAY_CASE_TEXT]);

#endif
