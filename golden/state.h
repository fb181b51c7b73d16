/* What reading and writing of state files share. */
#ifndef ASSAY_GOLDEN_STATE_H
#define ASSAY_GOLDEN_STATE_H

#include "assay/state.h"
#include "golden/file.h"

#include <hdf5.h>

/* How a file stores a tensor of that dtype. */
hid_t state_type(assay_dtype dtype);
const char *state_type_name(assay_dtype dtype); /* "fp32" */

/* Writes the tensors of `arrays` that are there into a group of that name; none, where there are
 * none. */
assay_status state_write_group(const golden_file *file, hid_t parent, const char *name,
                               const assay_tensor_spec *specs,
                               const assay_arrays *arrays) ASSAY_MUST_CHECK;

#endif
