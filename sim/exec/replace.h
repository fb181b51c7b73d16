/*
 * CUDA's static runtime, which nvcc links into programs unless it is told otherwise. It speaks with
 * NVIDIA's driver through tables that are not documented. In its place the program is given the
 * stand-in for libcudart: each function of the runtime that the program's symbol table names begins
 * with a jump to the stand-in's function of that name.
 */
#ifndef ASSAY_SIM_EXEC_REPLACE_H
#define ASSAY_SIM_EXEC_REPLACE_H

/* For all files that are loaded. A file whose runtime cannot be replaced gets a line. */
void exec_replace_runtime(void);

#endif
