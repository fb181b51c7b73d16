#include "sim/exec/properties.h"

#include "sim/ptx/heap.h"

#include <stddef.h>
#include <stdint.h>

/* By attribute number; those between that are not here are 0. */
static const int values[] = {
    [1] = EXEC_MOST_THREADS, /* threads of a block, then x, y, z */
    [2] = 1024,
    [3] = 1024,
    [4] = 64,
    [5] = INT32_MAX, /* blocks of a grid: x, y, z */
    [6] = 65535,
    [7] = 65535,
    [8] = EXEC_SHARED,
    [9] = 65536, /* constant memory */
    [10] = 32,   /* threads of a warp */
    [11] = INT32_MAX,
    [12] = EXEC_MULTIPROCESSOR_REGISTERS,
    [13] = EXEC_CLOCK,
    [14] = 512, /* alignment of textures */
    [15] = 1,   /* copies beside kernels */
    [16] = EXEC_MULTIPROCESSORS,
    [19] = 1, /* host memory is mapped */
    [21] = 131072,
    [22] = 131072,
    [23] = 65536,
    [24] = 16384,
    [25] = 16384,
    [26] = 16384,
    [27] = 32768,
    [28] = 32768,
    [29] = 2048,
    [30] = 512,
    [31] = 1, /* kernels beside kernels */
    [36] = EXEC_CLOCK,
    [37] = 5120, /* bits of the memory bus */
    [38] = EXEC_CACHE,
    [39] = EXEC_MULTIPROCESSOR_THREADS,
    [40] = 1, /* engines that copy */
    [41] = 1, /* one address space */
    [51] = 32,
    [75] = 9,
    [76] = 0,
    [78] = 1, /* priorities of streams */
    [79] = 1,
    [80] = 1,
    [81] = EXEC_MULTIPROCESSOR_SHARED,
    [82] = EXEC_MULTIPROCESSOR_REGISTERS,
    [83] = 1, /* managed memory */
    [87] = 2, /* fp32 to fp64 */
    [88] = 0, /* kernels do not reach memory that malloc() gave */
    [89] = 1,
    [90] = 1,
    [91] = 1,
    [95] = 1, /* cooperative launches */
    [97] = EXEC_MOST_SHARED,
    [99] = 1,
    [100] = 0,
    [101] = 0,
    [102] = 1, /* virtual memory management */
    [106] = EXEC_MULTIPROCESSOR_BLOCKS,
    [111] = EXEC_RESERVED_SHARED,
    [113] = 1,
    [115] = 1, /* memory pools */
    [120] = 1, /* clusters */
    [125] = 1, /* events of several processes */
    [126] = 1,
    [130] = 0,
    [131] = -1,
    [134] = -1,
    [147] = 0,
};

exec_error exec_attribute(int attribute, int *value) {
    if (value == NULL || attribute < 1 || (size_t)attribute >= sizeof values / sizeof values[0])
        return EXEC_INVALID_VALUE;
    *value = values[attribute];
    return EXEC_SUCCESS;
}

enum { HEAP_SIZE = 2, LIMITS = 7 };
static size_t limits[LIMITS] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0};

exec_error exec_set_limit(int limit, size_t value) {
    if (limit < 0 || limit >= LIMITS)
        return EXEC_UNSUPPORTED_LIMIT;
    limits[limit] = value;
    if (limit == HEAP_SIZE)
        ptx_heap_limit(value);
    return EXEC_SUCCESS;
}

exec_error exec_get_limit(int limit, size_t *value) {
    if (limit < 0 || limit >= LIMITS)
        return EXEC_UNSUPPORTED_LIMIT;
    if (value == NULL)
        return EXEC_INVALID_VALUE;
    *value = limits[limit];
    return EXEC_SUCCESS;
}
