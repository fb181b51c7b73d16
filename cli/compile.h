/* A kernel file becomes a shared object, for the device at hand; an operator's file as well. */
#ifndef ASSAY_CLI_COMPILE_H
#define ASSAY_CLI_COMPILE_H

#include "assay/status.h"

#include <stdio.h>

/*
 * Compiles `source` to `object`, and prints the command to `tell`, where that is not NULL: by nvcc
 * for cuda; for sim by the host's C++ compiler, or, where it is CUDA's C++ and not written for
 * assay, by nvcc to PTX. $CXX and $CXXFLAGS, $NVCC and $NVCCFLAGS are used. The compiler's output
 * goes to standard error. ASSAY_ERR_FILE: the source cannot be read, or is not right;
 * ASSAY_ERR_UNSUPPORTED: there is no such compiler, or it does not know the language that the
 * source is in.
 */
assay_status compile_kernel(const char *source, const char *object, const char *device,
                            FILE *tell) ASSAY_MUST_CHECK;

/* The same for an operator in C, by $CC with $CFLAGS. */
assay_status compile_operator(const char *source, const char *object, FILE *tell) ASSAY_MUST_CHECK;

#endif
