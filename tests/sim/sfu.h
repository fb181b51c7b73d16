/* What an H200's special function unit gives, as checksums. */
#ifndef ASSAY_TESTS_SIM_SFU_H
#define ASSAY_TESTS_SIM_SFU_H

#include "sim/sfu/sfu.h"

/* `samples`: of 48 inputs of each sign and exponent; `all`: of all 2^32. */
typedef struct sfu_checksum {
    const char *instruction;
    sfu_function function;
    bool ftz, f64;
    uint64_t samples, all;
} sfu_checksum;

extern const sfu_checksum sfu_checksums[];
extern const int32_t n_sfu_checksums;

uint64_t sfu_of_samples(const sfu_checksum *c);

/* Of the `part`th of 512 parts of all inputs: they add up. */
uint64_t sfu_of_part(const sfu_checksum *c, uint32_t part);

#endif
