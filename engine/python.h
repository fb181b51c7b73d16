/*
 * A variant that is a Python function. The process is then Python's interpreter, which has
 * loaded this code as a library (guest/python.c); there is one such function in it.
 */
#ifndef ASSAY_ENGINE_PYTHON_H
#define ASSAY_ENGINE_PYTHON_H

#include "assay/variant.h"

#include <stdio.h>

/*
 * The question to Python, as a JSON object: "question" is "supports" or "call", "stage", "op",
 * "device" and "dtype" are names, "stream" is an address, "keys" are the operator's. "tensors" lie
 * in the order of assay_call, each with "name", "role" (input, output, cotangent, gradient),
 * "differentiable", "dtype", "shape", "stride" in elements, and "data", an address. Returns an
 * assay_status and, where that is not ASSAY_OK, writes a line.
 */
typedef int (*python_function)(const char *call, char *line, size_t size);

/* The members of "keys": names and values of the operator's keys, without braces. */
void python_put_keys(FILE *to, const assay_params *params);

void python_set(python_function function);
bool python_is_set(void);

/* The variant that asks it. Strings must outlive it. */
const assay_variant *python_variant(const char *op, const char *name, const char *device);

#endif
