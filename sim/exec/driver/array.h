/* The formats of arrays and textures, as CUarray_format numbers them. */
#ifndef ASSAY_SIM_EXEC_DRIVER_ARRAY_H
#define ASSAY_SIM_EXEC_DRIVER_ARRAY_H

#include "sim/exec/array.h"

/* EXEC_NOT_SUPPORTED with a line: it is none of integers, f16 and fp32. */
exec_error driver_format_in(uint32_t format, uint32_t channels, exec_format *to);
void driver_format_out(const exec_format *from, uint32_t *format, uint32_t *channels);

#endif
