/* The SHA-256 digests and seals of a golden file, in hexadecimal: docs/golden-format.md. */
#ifndef ASSAY_GOLDEN_DIGEST_H
#define ASSAY_GOLDEN_DIGEST_H

#include "golden/record.h"

/* Of one tensor: "f64[16,32,32]\n", then its bytes. */
void golden_digest_tensor(const assay_tensor_spec *spec, const double *data,
                          char sha256[GOLDEN_SHA256]);

/* Of a whole case, its seal: a line for each attribute and each tensor that is there. The tensors'
 * own digests must be known. */
void golden_digest_case(const golden_record *record, char sha256[GOLDEN_SHA256]);

#endif
