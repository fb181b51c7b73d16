/*
 * A reference: a Python function with its own inputs, which is an operator by itself. Another
 * process, python/reference/main.py, computes its results in fp64 and derives the tolerance of
 * every element (docs/reference.md). That process is trusted as an oracle is; the candidate runs in
 * another one, and never sees it.
 */
#ifndef ASSAY_ENGINE_REFERENCE_H
#define ASSAY_ENGINE_REFERENCE_H

#include "assay/op.h"

/* Reads `words`, FILE.py or FILE.py:NAME, by the interpreter `python`, and makes an operator of it,
 * of which a process has one; for assay_op_add(). Strings must outlive it. ASSAY_ERR_FILE: the file
 * holds no reference, with the reason. */
assay_status reference_open(const char *words, const char *python,
                            const assay_op **op) ASSAY_MUST_CHECK;
void reference_close(void);

#endif
