/* What reading and writing of state files share. */
#ifndef ASSAY_GOLDEN_STATE_H
#define ASSAY_GOLDEN_STATE_H

#include "assay/state.h"

#include <hdf5.h>

/* How a file stores a tensor of that dtype. */
hid_t state_type(assay_dtype dtype);
const char *state_type_name(assay_dtype dtype); /* "fp32" */

#endif
