/* Compressed PTX: zstd since CUDA 12.8, LZ4 before and with --compress-mode=speed. */
#ifndef ASSAY_SIM_EXEC_INFLATE_H
#define ASSAY_SIM_EXEC_INFLATE_H

#include "assay/status.h"

#include <stddef.h>

/* Fills exactly `room` bytes. ASSAY_ERR_FILE: the data is damaged. ASSAY_ERR_UNSUPPORTED: this
 * build lacks the library; the line names its package. */
assay_status exec_inflate_zstd(const void *from, size_t bytes, void *to,
                               size_t room) ASSAY_MUST_CHECK;
assay_status exec_inflate_lz4(const void *from, size_t bytes, void *to,
                              size_t room) ASSAY_MUST_CHECK;

#endif
