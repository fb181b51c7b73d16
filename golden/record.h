/* One whole case of a golden file: the assay_golden that callers get, and the data that are kept
 * beside it. */
#ifndef ASSAY_GOLDEN_RECORD_H
#define ASSAY_GOLDEN_RECORD_H

#include "assay/golden.h"

enum {
    GOLDEN_SCHEMA = 1,
    GOLDEN_SHA256 = 65,
    GOLDEN_WORD = 64,
    GOLDEN_PLACE = ASSAY_CASE_TEXT + 64
};

/* Groups within a case, in the order of their names. */
typedef enum golden_group { GOLDEN_BOUND, GOLDEN_GRAD, GOLDEN_IN, GOLDEN_OUT } golden_group;
enum { GOLDEN_GROUPS = 4 };
const char *golden_group_name(golden_group group);

/* A tensor that a case may hold. */
typedef struct golden_entry {
    golden_group group;
    char name[ASSAY_TENSOR_NAME + 1];
    const assay_tensor_spec *spec;
    double **data; /* its place in the record's arrays; holds NULL while it is absent */
    int64_t *size; /* beside it */
    char sha256[GOLDEN_SHA256];
} golden_entry;

typedef struct golden_record {
    assay_golden golden;
    assay_arrays out_bound, grad_bound; /* n_out, n_in; absent in foreign goldens */
    char text[ASSAY_CASE_TEXT];         /* canonical */
    char library[GOLDEN_WORD], version[GOLDEN_WORD];
    char seal[GOLDEN_SHA256]; /* golden_digest_case */
    golden_entry *entry;      /* by group, then by name */
    int32_t n_entries;
} golden_record;

/* The case under which a file keeps the data of `c`: a golden file holds data, so layout and
 * schedule are left out, and of a foreign one the math mode too, which is the kernel's. */
assay_case golden_stored_case(const assay_case *c);

/* A record of `c` with all tensors absent. */
assay_status golden_record_init(golden_record *record, const assay_case *c) ASSAY_MUST_CHECK;
void golden_record_clear(golden_record *record);

/* Allocates the data of an entry. */
assay_status golden_entry_add(golden_entry *entry) ASSAY_MUST_CHECK;

#endif
