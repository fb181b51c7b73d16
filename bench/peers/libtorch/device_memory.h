/* The memory that PyTorch's allocator holds on the GPU, in bytes. Of no use without one. */
#ifndef ASSAY_BENCH_PEERS_LIBTORCH_DEVICE_MEMORY_H
#define ASSAY_BENCH_PEERS_LIBTORCH_DEVICE_MEMORY_H

#include <cstdint>

int64_t device_memory_held();
int64_t device_memory_most(); /* at once, since the restart */
void device_memory_restart();
void device_memory_give_back(); /* the unused part */

#endif
