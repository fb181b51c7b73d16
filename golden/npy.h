/* NumPy's array format, .npy (numpy.lib.format, versions 1.0 to 3.0): a text header, then data. */
#ifndef ASSAY_GOLDEN_NPY_H
#define ASSAY_GOLDEN_NPY_H

#include "golden/packed.h"

enum { NPY_HEADER = 1024 }; /* of the header that is written: at most */

/* Reads the header in front of the data, of `size` bytes at `bytes`; t->data and t->bytes are the
 * rest. Returns NULL, or the reason why it is not legal. `type` is where t->type lies. */
enum { NPY_TYPE = 32 };
const char *npy_parse(const unsigned char *bytes, size_t size, char type[NPY_TYPE],
                      packed_tensor *t) ASSAY_MUST_CHECK;

/* How NumPy calls a type. */
const char *npy_type(assay_dtype dtype);

/* Writes the header in front of an array's data; returns its length. */
size_t npy_format(const char *type, int32_t rank, const int64_t *shape, char header[NPY_HEADER]);

#endif
