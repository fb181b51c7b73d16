#include "sim/exec/properties.h"

#include "sim/exec/call.h"
#include "sim/exec/report.h"
#include "sim/exec/stream.h"
#include "sim/ptx/heap.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* As CUDA numbers them; no longer there is the third, the depth of cudaDeviceSynchronize() in
 * kernels. */
enum { STACK, PRINTF, HEAP, NO_DEPTH, PENDING, L2_FETCH, PERSISTING, SHARED, GRAPHICS, LIMITS };
#define DEFAULTS                                                                                   \
    { 1024, 1 << 20, 8 << 20, 0, 2048, 64, 0, EXEC_MOST_SHARED, 0 }
static const size_t defaults[LIMITS] = DEFAULTS;
static size_t limits[LIMITS] = DEFAULTS;
static bool allocates, prints; /* a kernel that does has been launched */

void exec_limits_launched(bool by_malloc, bool by_printf) {
    allocates |= by_malloc;
    prints |= by_printf;
}

void exec_limits_reset(void) {
    memcpy(limits, defaults, sizeof limits);
    ptx_heap_limit(limits[HEAP]);
    allocates = prints = false;
}

static size_t up(size_t value, size_t least, size_t unit) {
    return value <= least ? least : (value + unit - 1) / unit * unit;
}

/* What an H200's driver makes of them. */
exec_error exec_set_limit(int limit, size_t value) {
    enum { MOST_STACK = 512 << 10, MOST_FETCH = 128 };
    if (limit < 0 || limit >= LIMITS)
        return EXEC_INVALID_VALUE;
    if (limit == NO_DEPTH || limit >= SHARED)
        return EXEC_UNSUPPORTED_LIMIT;
    exec_streams_synchronize(); /* a kernel that is yet to come may be one of those */
    if ((limit == HEAP && allocates) || (limit == PRINTF && prints)) {
        exec_remark("%s: the limit is fixed since a kernel that uses %s was launched",
                    exec_call_name(), limit == HEAP ? "malloc()" : "printf()");
        return EXEC_INVALID_VALUE;
    }
    if ((limit == STACK && value > MOST_STACK) || (limit == L2_FETCH && value > MOST_FETCH))
        return EXEC_INVALID_VALUE;
    if (limit == STACK)
        value = up(value, 0, 16);
    if (limit == PRINTF)
        value = up(value, 512 << 10, 1);
    if (limit == HEAP) {
        value = up(value, 4 << 20, 64 << 10);
        ptx_heap_limit(value);
    }
    limits[limit] = value;
    return EXEC_SUCCESS;
}

exec_error exec_get_limit(int limit, size_t *value) {
    if (limit < 0 || limit >= LIMITS || value == NULL)
        return EXEC_INVALID_VALUE;
    if (limit == NO_DEPTH)
        return EXEC_UNSUPPORTED_LIMIT;
    *value = limits[limit];
    return EXEC_SUCCESS;
}
