/*
 * The instructions that take a whole warp. Lanes meet as in any warp collective (warp.c), each with
 * the address of its data. A matrix load is a load by each lane of the elements it gets: the
 * meeting tells the lanes the rows' addresses and orders no memory, so a row that another lane has
 * stored needs a __syncwarp before.
 */
#include "sim/block.h"
#include "sim/mma.h"

enum { MAX_WARPS = SIM_MAX_THREADS / SIM_WARP, ROWS = 8 /* of a matrix */, ROW_BYTES = 16 };

typedef uint32_t __attribute__((may_alias)) any32;
typedef uint16_t __attribute__((may_alias)) any16;

/* The rows that the lanes brought to their last ldmatrix. All must come to the next one before it
 * changes, and thus have read it. */
static uintptr_t rows[MAX_WARPS][SIM_WARP];

static void multiply(sim_mma_shape shape, const uint64_t values[SIM_WARP]) {
    sim_fragments lanes[SIM_WARP];
    for (int32_t i = 0; i < SIM_WARP; ++i)
        lanes[i] = *(const sim_fragments *)(uintptr_t)values[i];
    sim_mma_compute(shape, lanes);
}

void sim_tensor_meet(sim_collective kind, int32_t warp, const uint64_t values[SIM_WARP]) {
    static const sim_mma_shape shapes[] = {
        [SIM_MMA_BF16] = SIM_M16N8K16_BF16,         [SIM_MMA_F16] = SIM_M16N8K16_F16,
        [SIM_MMA_TF32] = SIM_M16N8K8_TF32,          [SIM_MMA_F64] = SIM_M8N8K4_F64,
        [SIM_MMA_K8_BF16] = SIM_M16N8K8_BF16,       [SIM_MMA_K8_F16] = SIM_M16N8K8_F16,
        [SIM_MMA_K4_TF32] = SIM_M16N8K4_TF32,       [SIM_MMA_F16_F16] = SIM_M16N8K16_F16_F16,
        [SIM_MMA_K8_F16_F16] = SIM_M16N8K8_F16_F16, [SIM_MMA_M16N8K4_F64] = SIM_M16N8K4_F64,
        [SIM_MMA_M16N8K8_F64] = SIM_M16N8K8_F64,    [SIM_MMA_M16N8K16_F64] = SIM_M16N8K16_F64,
        [SIM_MMA_INTEGERS] = SIM_M16N8_INTEGERS,
    };
    if (kind >= SIM_MMA_BF16 && kind <= SIM_MMA_INTEGERS)
        multiply(shapes[kind], values);
    else
        for (int32_t i = 0; i < SIM_WARP; ++i)
            rows[warp][i] = (uintptr_t)values[i];
}

void sim_mma(sim_collective kind, const void *a, const void *b, void *c, const char *file,
             int line) {
    const sim_fragments own = {a, b, c};
    sim_meet(kind, UINT32_MAX, (uintptr_t)&own, 0, SIM_WARP, file, line);
}

void sim_require_aligned(const char *call, const void *address, int32_t bytes, const char *file,
                         int line) {
    char where[SIM_POSITION];
    if ((uintptr_t)address % (uintptr_t)bytes == 0)
        return;
    sim_defect("misaligned address", file, line, "%s calls %s with an address not aligned to %d",
               sim_block_thread_text(sim_now.block, sim_now.thread, where), call, bytes);
    sim_abandon();
}

/* Volatile: a call to memcpy would be recorded as an access of its own (race_access.c). */
static uint32_t load(uintptr_t row, int32_t column, const char *file, int line) {
    const volatile any16 *element = (const volatile any16 *)row + column;
    trace_read(element, sizeof *element, file, line);
    return *element;
}

static uint32_t load_pair(uintptr_t row, int32_t pair, const char *file, int line) {
    const volatile any32 *elements = (const volatile any32 *)row + pair;
    trace_read(elements, sizeof *elements, file, line);
    return *elements;
}

void sim_ldmatrix(uint32_t *r, int32_t matrices, bool transposed, const void *row, const char *file,
                  int line) {
    const int32_t warp = sim_now.thread / SIM_WARP, lane = sim_now.thread % SIM_WARP;
    const int32_t group = lane / 4, place = lane % 4;
    const bool has_row = lane < matrices * ROWS;
    if (has_row)
        sim_require_aligned("ldmatrix", row, ROW_BYTES, file, line);
    sim_meet(SIM_LDMATRIX, UINT32_MAX, (uintptr_t)row, 0, SIM_WARP, file, line);
    if (has_row)
        trace_row(row, ROW_BYTES, file, line);
    for (int32_t i = 0; i < matrices; ++i) {
        const uintptr_t *matrix = &rows[warp][i * ROWS];
        if (transposed)
            r[i] = load(matrix[2 * place], group, file, line) |
                   load(matrix[2 * place + 1], group, file, line) << 16;
        else
            r[i] = load_pair(matrix[group], place, file, line);
    }
}

void sim_stmatrix(const uint32_t *r, int32_t matrices, bool transposed, void *row, const char *file,
                  int line) {
    const int32_t warp = sim_now.thread / SIM_WARP, lane = sim_now.thread % SIM_WARP;
    const int32_t group = lane / 4, place = lane % 4;
    if (lane < matrices * ROWS)
        sim_require_aligned("stmatrix", row, ROW_BYTES, file, line);
    sim_meet(SIM_STMATRIX, UINT32_MAX, (uintptr_t)row, 0, SIM_WARP, file, line);
    for (int32_t i = 0; i < matrices; ++i)
        for (int32_t half = 0; half < 2; ++half) {
            const int32_t row_of = transposed ? 2 * place + half : group;
            const int32_t column = transposed ? group : 2 * place + half;
            volatile any16 *element = (volatile any16 *)rows[warp][i * ROWS + row_of] + column;
            trace_write(element, sizeof *element, file, line);
            *element = (any16)(r[i] >> 16 * half);
        }
}

uint32_t sim_movmatrix(uint32_t r, const char *file, int line) {
    return (uint32_t)sim_meet(SIM_MOVMATRIX, UINT32_MAX, r, 0, SIM_WARP, file, line);
}
