/* Kernels by the names that people gave them. */
#ifndef ASSAY_BENCH_PROFILE_KERNEL_NAME_H
#define ASSAY_BENCH_PROFILE_KERNEL_NAME_H

#include "bench/profile/record.h"

/* "_Z8sum_rowsIfEvPKT_l" becomes "sum_rows<float>": no result, no parameters. Other names stay as
 * they are, and a name that is too long ends in "...". */
void kernel_name(const char *symbol, char name[PROFILE_NAME]);

/* The function alone, "sum_rows": what ncu --kernel-name takes. */
void kernel_base(const char *name, char base[PROFILE_NAME]);

#endif
