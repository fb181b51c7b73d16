/* Shared by the readers and writers of state files of all formats. */
#ifndef ASSAY_GOLDEN_STATE_H
#define ASSAY_GOLDEN_STATE_H

#include "assay/state.h"
#include "golden/file.h"
#include "golden/writer.h"

#include <hdf5.h>

/* How an HDF5 file stores a tensor of that dtype. */
hid_t state_type(assay_dtype dtype);
const char *state_type_name(assay_dtype dtype); /* "fp32" */

/* Writes the groups of a state file, each name behind `prefix`: "", or "0001/" of a finding. */
assay_status state_put(tensor_writer *w, const char *prefix, const assay_problem *p,
                       const assay_results *got) ASSAY_MUST_CHECK;

/* ---- reading ---- */

typedef enum state_use {
    STATE_TAKE,   /* the file's values go into the arrays */
    STATE_SAME,   /* they must be those that the arrays have */
    STATE_IGNORE, /* they are not looked at */
} state_use;

typedef struct state_group {
    const char *name;   /* "in" */
    const char *called; /* the role of one of its tensors */
    const assay_tensor_spec *specs;
    const assay_arrays *arrays; /* absent where there is no such tensor */
    state_use use;
    bool *taken; /* arrays->count: which ones the file had */
} state_group;

enum { STATE_GROUPS = 4 };
enum { STATE_PATH = 4096, STATE_PREFIX = 24 };
typedef struct state_reading {
    char path[STATE_PATH];     /* of the file alone */
    char prefix[STATE_PREFIX]; /* of its names that count: "", or "0001/" of a finding */
    state_group group[STATE_GROUPS];
} state_reading;

/* A tensor that a file has, and its place here. */
typedef struct state_slot {
    const char *path, *group;
    const assay_tensor_spec *spec;
    double *data;
    int64_t size;
    state_use use;
} state_slot;

/* ASSAY_ERR_FILE: "path: /in/logits: what; remedy". */
assay_status state_refuse(const state_slot *s, const char *format, ...) ASSAY_PRINTF(2, 3);

/* "0001" */
void state_finding_name(int32_t number, char name[16]);

/* The place that `name` has behind the reading's prefix: false where it is skipped: another
 * finding, and a finding's texts and oracle's results. */
bool state_strip_prefix(const state_reading *r, const char **name);

/* Unknown names are refused. `name` has nothing in it that a terminal would obey. */
assay_status state_find_group(const state_reading *r, const char *name,
                              const state_group **group) ASSAY_MUST_CHECK;
assay_status state_find_slot(const state_reading *r, const state_group *group, const char *name,
                             state_slot *slot) ASSAY_MUST_CHECK;

/* "(3, 5)" */
const char *state_shape_text(int32_t rank, const int64_t *shape, char text[128]);
assay_status state_check_shape(const state_slot *s, int32_t rank,
                               const int64_t *shape) ASSAY_MUST_CHECK;

/* Checks the values that were read. For a tensor that is taken they are s->data itself; otherwise
 * they must equal s->data. */
assay_status state_check_values(const state_slot *s, const double *values) ASSAY_MUST_CHECK;

/* One format each. */
assay_status state_read_hdf5(const state_reading *r) ASSAY_MUST_CHECK;

#endif
