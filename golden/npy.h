/* NumPy's array format, .npy (numpy.lib.format, versions 1.0 to 3.0): a text header, then data. */
#ifndef ASSAY_GOLDEN_NPY_H
#define ASSAY_GOLDEN_NPY_H

#include "golden/packed.h"

enum { NPY_HEADER = 1024 }; /* of what is written: at most */

/* Reads what precedes the data of `size` bytes at `bytes`; t->data and t->bytes are what follows.
 * NULL, or what is wrong with it. `type` is where t->type lies. */
enum { NPY_TYPE = 32 };
const char *npy_parse(const unsigned char *bytes, size_t size, char type[NPY_TYPE],
                      packed_tensor *t) ASSAY_MUST_CHECK;

/* How NumPy calls a type. */
const char *npy_type(assay_dtype dtype);

/* What precedes the data of an array; its length. */
size_t npy_format(const char *type, int32_t rank, const int64_t *shape, char header[NPY_HEADER]);

#endif
