/* Modules of random.h on a GPU, by its driver alone. A call that fails ends the program. */
#ifndef ASSAY_TESTS_SIM_PTX_RANDOM_GPU_H
#define ASSAY_TESTS_SIM_PTX_RANDOM_GPU_H

#include <stdbool.h>
#include <stdint.h>

/* Whether there is a driver. */
bool random_gpu(void);

/* Once in each process, on the GPU of that number, counted round: `operands` of forms_operands(),
 * room for `most` programs' results. */
void random_gpu_open(int32_t number, const uint64_t *operands, int32_t most);

/* `level`: of the driver's ptxas, 0 to 4. `results`: RANDOM_WORDS for each program. */
void random_gpu_run(const char *text, int32_t count, int level, uint64_t *results);

#endif
