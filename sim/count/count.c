/* Sums of requests and of meetings, launch by launch. */
#include "sim/count/count.h"

#include "sim/block.h"
#include "sim/count/count_access.h"
#include "sim/count/count_lanes.h"
#include "sim/count/count_memory.h"

#include <stdlib.h>

/* CUDA's built-in variables, of the launch that runs. */
extern uint3 gridDim, blockDim;

bool sim_counting;

static struct {
    sim_count *launch;
    int32_t n_launches, room;
} counts;

static sim_count *now(void) {
    return &counts.launch[counts.n_launches - 1];
}

/* ---- accesses ---- */

/* What one lane can ask for at once: a power of two that its address and its size allow. */
static size_t piece(uintptr_t address, size_t bytes) {
    const size_t allowed = (address | bytes) & (~(address | bytes) + 1);
    return allowed < SIM_WIDEST ? allowed : SIM_WIDEST;
}

void sim_count_access(const volatile void *address, size_t bytes, sim_access kind, uint64_t place,
                      bool statics) {
    sim_purpose to = {.kind = kind};
    uintptr_t at;
    if (bytes == 0 || !sim_memory_find(address, statics, &to.shared, &at))
        return;
    const size_t step = piece(at, bytes);
    for (size_t done = 0; done < bytes; done += step)
        sim_lanes_note(to, place, at + done, step);
}

void sim_count_copy(const void *shared, const void *global, int32_t bytes, int32_t valid,
                    uint64_t place) {
    sim_purpose from = {.kind = SIM_READ}, to = {.kind = SIM_WRITE, .copies = true};
    uintptr_t at;
    if (valid > 0 && sim_memory_find(global, true, &from.shared, &at))
        sim_lanes_note(from, place, at, (size_t)valid);
    if (sim_memory_find(shared, true, &to.shared, &at))
        sim_lanes_note(to, place, at, (size_t)bytes);
}

static void add(sim_purpose purpose, const sim_request *r) {
    sim_requests *sum =
        purpose.shared ? &now()->shared[purpose.kind] : &now()->global[purpose.kind];
    if (purpose.shared)
        sim_request_shared(r, sum);
    else
        sim_request_global(r, sum);
    if (purpose.kind == SIM_ATOMIC)
        sum->repeats += sim_request_repeats(r);
    now()->met.cp_async += purpose.copies;
}

/* ---- what the runtime tells ---- */

void sim_count_launch(const char *kernel) {
    if (counts.n_launches == counts.room) {
        counts.room = counts.room == 0 ? 16 : 2 * counts.room;
        counts.launch =
            sim_count_must(realloc(counts.launch, (size_t)counts.room * sizeof *counts.launch));
    }
    counts.launch[counts.n_launches++] =
        (sim_count){.kernel = kernel, .grid = gridDim, .block = blockDim};
    sim_memory_launch();
}

void sim_count_launch_end(void) {
    sim_lanes_forget();
}

void sim_count_block(const sim_range shared[2]) {
    sim_memory_block(shared);
    now()->dynamic_shared = (uint64_t)(shared[1].high - shared[1].low);
}

void sim_count_block_end(void) {
    for (int32_t w = 0; w < SIM_MAX_THREADS / SIM_WARP; ++w)
        sim_lanes_converge(w, add);
}

void sim_count_barrier(void) {
    ++now()->met.barriers;
    sim_count_block_end();
}

static uint64_t *meetings_of(sim_collective kind) {
    sim_meetings *met = &now()->met;
    switch (kind) {
    case SIM_SYNCWARP:
        return &met->syncwarps;
    case SIM_SHUFFLE:
    case SIM_SHUFFLE_UP:
    case SIM_SHUFFLE_DOWN:
    case SIM_SHUFFLE_XOR:
        return &met->shuffles;
    case SIM_BALLOT:
    case SIM_ANY:
    case SIM_ALL:
        return &met->votes;
    case SIM_MATCH_ANY:
    case SIM_MATCH_ALL:
        return &met->matches;
    case SIM_MMA_BF16:
    case SIM_MMA_K8_BF16:
        return &met->mma_bf16;
    case SIM_MMA_F16:
    case SIM_MMA_K8_F16:
    case SIM_MMA_F16_F16:
    case SIM_MMA_K8_F16_F16:
        return &met->mma_f16;
    case SIM_MMA_TF32:
    case SIM_MMA_K4_TF32:
        return &met->mma_tf32;
    case SIM_MMA_F64:
    case SIM_MMA_M16N8K4_F64:
    case SIM_MMA_M16N8K8_F64:
    case SIM_MMA_M16N8K16_F64:
        return &met->mma_f64;
    case SIM_LDMATRIX:
    case SIM_STMATRIX:
    case SIM_MOVMATRIX:
        return &met->ldmatrix;
    case SIM_REDUCE_ADD:
    case SIM_REDUCE_MIN:
    case SIM_REDUCE_MAX:
    case SIM_REDUCE_MIN_SIGNED:
    case SIM_REDUCE_MAX_SIGNED:
    case SIM_REDUCE_AND:
    case SIM_REDUCE_OR:
    case SIM_REDUCE_XOR:
        return &met->reductions;
    case SIM_MMA_INTEGERS: /* from PTX alone, whose kernels are not counted */
    case SIM_WGMMA:        /* four warps issue one: an event */
        break;
    }
    return NULL;
}

/* Of m16n8k16, k8 or k4, and m8n8k4. */
static uint64_t multiply_adds_of(sim_collective kind) {
    switch (kind) {
    case SIM_MMA_BF16:
    case SIM_MMA_F16:
    case SIM_MMA_F16_F16:
    case SIM_MMA_M16N8K16_F64:
        return 16 * 8 * 16;
    case SIM_MMA_K8_BF16:
    case SIM_MMA_K8_F16:
    case SIM_MMA_K8_F16_F16:
    case SIM_MMA_TF32:
    case SIM_MMA_M16N8K8_F64:
        return 16 * 8 * 8;
    case SIM_MMA_K4_TF32:
    case SIM_MMA_M16N8K4_F64:
        return 16 * 8 * 4;
    case SIM_MMA_F64:
        return 8 * 8 * 4;
    default:
        return 0;
    }
}

void sim_count_event(sim_event event, uint64_t amount) {
    now()->event[event] += amount;
}

void sim_count_met(sim_collective kind, int32_t warp, uint32_t lanes) {
    uint64_t *meetings = meetings_of(kind);
    if (meetings != NULL)
        ++*meetings;
    sim_count_event(SIM_EVENT_MULTIPLY_ADDS, multiply_adds_of(kind));
    if (lanes == sim_live_lanes(warp))
        sim_lanes_converge(warp, add);
    else
        sim_lanes_level(warp, lanes);
}

/* ---- queries ---- */

void sim_count_begin(void) {
    counts.n_launches = 0;
    sim_counting = true;
}

void sim_count_end(void) {
    sim_counting = false;
}

int32_t sim_count_launches(void) {
    return counts.n_launches;
}

const sim_count *sim_count_at(int32_t i) {
    return &counts.launch[i];
}
