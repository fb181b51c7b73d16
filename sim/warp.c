/*
 * Warp collectives: the lanes named in a mask meet, then each gets its result. Lanes of one warp
 * may be in several meetings at once, with masks that do not overlap.
 *
 * A meeting is complete when all lanes of its mask have come that have not exited (CUDA C
 * Programming Guide, "all non-exited threads named in mask must execute the same intrinsic with the
 * same mask"); a lane beyond the block's last thread counts as exited. A caller outside its own
 * mask is found at once. Lanes that come with different masks, or to different collectives, wait
 * for each other in vain; that shows when no thread can run.
 */
#include "sim/defect.h"
#include "sim/operation.h"
#include "sim/threads.h"

#include <string.h>

typedef struct meeting {
    sim_collective kind;
    uint32_t mask, arrived;
} meeting;

typedef struct sim_warp {
    meeting open[SIM_WARP];
    /* Of each lane, as it came to its meeting; `source`: the lane that a shuffle reads. */
    uint64_t value[SIM_WARP];
    uint8_t source[SIM_WARP];
    uint64_t result[SIM_WARP]; /* written when the meeting is complete */
} sim_warp;

struct sim_warps {
    int32_t n_open[SIM_MAX_WARPS]; /* meetings */
    sim_warp warp[SIM_MAX_WARPS];
};
const size_t sim_warps_bytes = sizeof(struct sim_warps);
static struct sim_warps *warps; /* of the block that runs */

void sim_warps_use(struct sim_warps *of_block) {
    warps = of_block;
}

static const char *const names[] = {
    [SIM_SYNCWARP] = "__syncwarp",
    [SIM_SHUFFLE] = "__shfl_sync",
    [SIM_SHUFFLE_UP] = "__shfl_up_sync",
    [SIM_SHUFFLE_DOWN] = "__shfl_down_sync",
    [SIM_SHUFFLE_XOR] = "__shfl_xor_sync",
    [SIM_BALLOT] = "__ballot_sync",
    [SIM_ANY] = "__any_sync",
    [SIM_ALL] = "__all_sync",
    [SIM_MATCH_ANY] = "__match_any_sync",
    [SIM_MATCH_ALL] = "__match_all_sync",
    [SIM_REDUCE_ADD] = "__reduce_add_sync",
    [SIM_REDUCE_MIN] = "__reduce_min_sync",
    [SIM_REDUCE_MAX] = "__reduce_max_sync",
    [SIM_REDUCE_MIN_SIGNED] = "__reduce_min_sync",
    [SIM_REDUCE_MAX_SIGNED] = "__reduce_max_sync",
    [SIM_REDUCE_AND] = "__reduce_and_sync",
    [SIM_REDUCE_OR] = "__reduce_or_sync",
    [SIM_REDUCE_XOR] = "__reduce_xor_sync",
    [SIM_MMA_BF16] = "mma_m16n8k16_bf16",
    [SIM_MMA_F16] = "mma_m16n8k16_f16",
    [SIM_MMA_TF32] = "mma_m16n8k8_tf32",
    [SIM_MMA_F64] = "mma_m8n8k4_f64",
    [SIM_MMA_K8_BF16] = "mma_m16n8k8_bf16",
    [SIM_MMA_K8_F16] = "mma_m16n8k8_f16",
    [SIM_MMA_K4_TF32] = "mma_m16n8k4_tf32",
    [SIM_MMA_F16_F16] = "mma_m16n8k16_f16_f16",
    [SIM_MMA_K8_F16_F16] = "mma_m16n8k8_f16_f16",
    [SIM_MMA_M16N8K4_F64] = "mma_m16n8k4_f64",
    [SIM_MMA_M16N8K8_F64] = "mma_m16n8k8_f64",
    [SIM_MMA_M16N8K16_F64] = "mma_m16n8k16_f64",
    [SIM_MMA_INTEGERS] = "mma of integers",
    [SIM_LDMATRIX] = "ldmatrix",
    [SIM_STMATRIX] = "stmatrix",
    [SIM_MOVMATRIX] = "movmatrix",
    [SIM_WGMMA] = "wgmma.mma_async",
};

void sim_warps_begin(void) {
    memset(warps->n_open, 0, sizeof warps->n_open);
}

static int32_t first_lane(uint32_t lanes) {
    return __builtin_ctz(lanes);
}

/* Where a lane came to its meeting. */
static const sim_place *place_of(int32_t warp, int32_t lane) {
    return &sim_threads_now->thread[warp * SIM_WARP + lane].place;
}

SIM_REPORT static void report_mask(sim_collective kind, uint32_t mask, const sim_place *place) {
    char where[SIM_POSITION];
    sim_defect("wrong mask", place->file, place->line,
               "%s calls %s with mask 0x%08x, without lane %d",
               sim_block_thread_text(sim_now.block, sim_now.thread, where), names[kind], mask,
               sim_now.thread % SIM_WARP);
    sim_abandon();
}

/* PTX ISA, shfl.sync. */
SIM_HOT bool find_source(sim_collective kind, int32_t own, uint32_t operand, uint32_t clamp,
                         int32_t *source) {
    const int32_t segment = (int32_t)(clamp >> 8 & 31), bound = (int32_t)(clamp & 31);
    const int32_t first = own & segment, last = first | (bound & ~segment);
    const int32_t shift = (int32_t)(operand & 31);
    bool inside;
    switch (kind) {
    case SIM_SHUFFLE_UP:
        *source = own - shift;
        inside = *source >= last;
        break;
    case SIM_SHUFFLE_DOWN:
        *source = own + shift;
        inside = *source <= last;
        break;
    case SIM_SHUFFLE_XOR:
        *source = own ^ shift;
        inside = *source <= last;
        break;
    default:
        *source = first | (shift & ~segment);
        inside = *source <= last;
    }
    *source = inside ? *source : own;
    return inside;
}

bool sim_shuffle_source(sim_collective kind, int32_t own, uint32_t operand, uint32_t clamp,
                        int32_t *source) {
    return find_source(kind, own, operand, clamp, source);
}

/* CUDA's width as PTX's operand (sm_30_intrinsics.hpp). */
static uint32_t clamp_of(sim_collective kind, int width) {
    return (uint32_t)(SIM_WARP - width) << 8 | (kind == SIM_SHUFFLE_UP ? 0 : 31);
}

static const char *absence(int32_t warp, int32_t lane, const meeting *m) {
    if ((m->mask >> lane & 1u) == 0)
        return "is not in the mask";
    return sim_lane_exists(warp, lane) ? "has exited" : "does not exist in this block";
}

SIM_REPORT static void report_lane(int32_t warp, int32_t reader, int32_t source, const meeting *m) {
    char where[SIM_POSITION];
    const sim_place *place = place_of(warp, reader);
    sim_defect("wrong lane", place->file, place->line,
               "%s reads lane %d, which %s (%s, mask 0x%08x)",
               sim_block_thread_text(sim_now.block, warp * SIM_WARP + reader, where), source,
               absence(warp, source, m), names[m->kind], m->mask);
    sim_abandon();
}

static void shuffle(sim_warp *w, int32_t warp, const meeting *m) {
    for (uint32_t rest = m->arrived; rest != 0; rest &= rest - 1) {
        const int32_t lane = first_lane(rest), source = w->source[lane];
        if ((m->arrived >> source & 1u) == 0)
            report_lane(warp, lane, source, m);
        w->result[lane] = w->value[source];
    }
}

static uint32_t lanes_with(const sim_warp *w, uint32_t mask, uint64_t value) {
    uint32_t lanes = 0;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1)
        if (w->value[first_lane(rest)] == value)
            lanes |= rest & -rest;
    return lanes;
}

static uint32_t combine(sim_collective kind, uint32_t a, uint32_t b) {
    switch (kind) {
    case SIM_REDUCE_ADD:
        return a + b;
    case SIM_REDUCE_MIN:
        return a < b ? a : b;
    case SIM_REDUCE_MAX:
        return a > b ? a : b;
    case SIM_REDUCE_MIN_SIGNED:
        return (int32_t)a < (int32_t)b ? a : b;
    case SIM_REDUCE_MAX_SIGNED:
        return (int32_t)a > (int32_t)b ? a : b;
    case SIM_REDUCE_AND:
        return a & b;
    case SIM_REDUCE_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

static uint32_t reduce(const sim_warp *w, const meeting *m) {
    uint32_t rest = m->arrived, sum = (uint32_t)w->value[first_lane(rest)];
    for (rest &= rest - 1; rest != 0; rest &= rest - 1)
        sum = combine(m->kind, sum, (uint32_t)w->value[first_lane(rest)]);
    return sum;
}

static void set_results(sim_warp *w, uint32_t lanes, uint64_t result) {
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1)
        w->result[first_lane(rest)] = result;
}

SIM_REPORT static void report_whole_warp(int32_t warp, int32_t caller, int32_t lane,
                                         const meeting *m) {
    char where[SIM_POSITION];
    const sim_place *place = place_of(warp, caller);
    sim_defect("lanes missing", place->file, place->line,
               "%s calls %s, which takes all 32 lanes; lane %d %s",
               sim_block_thread_text(sim_now.block, warp * SIM_WARP + caller, where),
               names[m->kind], lane, absence(warp, lane, m));
    sim_abandon();
}

SIM_REPORT static void report_lines(int32_t warp, int32_t lane, const meeting *m) {
    char first[SIM_POSITION], second[SIM_POSITION];
    const sim_place *place = place_of(warp, 0), *other = place_of(warp, lane);
    sim_defect("divergent warp", place->file, place->line, "%s calls %s here, %s at %s:%d",
               sim_block_thread_text(sim_now.block, warp * SIM_WARP, first), names[m->kind],
               sim_thread_text(warp * SIM_WARP + lane, second), sim_base_name(other->file),
               other->line);
    sim_abandon();
}

static bool same_line(const sim_place *p, const sim_place *q) {
    return p->line == q->line && (p->file == q->file || strcmp(p->file, q->file) == 0);
}

/* The other collectives leave out lanes that are not there; a matrix instruction takes the
 * whole warp, at one place of the source (PTX ISA, mma and ldmatrix: .aligned). */
static void require_whole_warp(int32_t warp, const meeting *m) {
    if (m->arrived != UINT32_MAX)
        report_whole_warp(warp, first_lane(m->arrived), first_lane(~m->arrived), m);
    for (int32_t lane = 1; lane < SIM_WARP; ++lane)
        if (!same_line(place_of(warp, 0), place_of(warp, lane)))
            report_lines(warp, lane, m);
}

/* Each lane has two elements of a row of an 8x8 matrix, and gets two of a column. */
static void move_matrix(sim_warp *w) {
    for (int32_t lane = 0; lane < SIM_WARP; ++lane) {
        const int32_t column = lane / 4, row = 2 * (lane % 4);
        const uint64_t low = w->value[4 * row + column / 2] >> 16 * (column % 2);
        const uint64_t high = w->value[4 * (row + 1) + column / 2] >> 16 * (column % 2);
        w->result[lane] = (low & 0xffff) | (high & 0xffff) << 16;
    }
}

static void compute(sim_warp *w, int32_t warp, const meeting *m) {
    switch (m->kind) {
    case SIM_SYNCWARP:
        break;
    case SIM_SHUFFLE:
    case SIM_SHUFFLE_UP:
    case SIM_SHUFFLE_DOWN:
    case SIM_SHUFFLE_XOR:
        shuffle(w, warp, m);
        break;
    case SIM_BALLOT:
        set_results(w, m->arrived,
                    (uint64_t)m->arrived << 32 | (m->arrived & ~lanes_with(w, m->arrived, 0)));
        break;
    case SIM_ANY:
        set_results(w, m->arrived, (m->arrived & ~lanes_with(w, m->arrived, 0)) != 0);
        break;
    case SIM_ALL:
        set_results(w, m->arrived, lanes_with(w, m->arrived, 0) == 0);
        break;
    case SIM_MATCH_ANY:
        for (uint32_t rest = m->arrived; rest != 0; rest &= rest - 1) {
            int32_t lane = first_lane(rest);
            w->result[lane] = lanes_with(w, m->arrived, w->value[lane]);
        }
        break;
    case SIM_MATCH_ALL: {
        bool all = lanes_with(w, m->arrived, w->value[first_lane(m->arrived)]) == m->arrived;
        set_results(w, m->arrived, all ? m->arrived : 0);
        break;
    }
    case SIM_REDUCE_ADD:
    case SIM_REDUCE_MIN:
    case SIM_REDUCE_MAX:
    case SIM_REDUCE_MIN_SIGNED:
    case SIM_REDUCE_MAX_SIGNED:
    case SIM_REDUCE_AND:
    case SIM_REDUCE_OR:
    case SIM_REDUCE_XOR:
        set_results(w, m->arrived, reduce(w, m));
        break;
    case SIM_MMA_BF16:
    case SIM_MMA_F16:
    case SIM_MMA_TF32:
    case SIM_MMA_F64:
    case SIM_MMA_K8_BF16:
    case SIM_MMA_K8_F16:
    case SIM_MMA_K4_TF32:
    case SIM_MMA_F16_F16:
    case SIM_MMA_K8_F16_F16:
    case SIM_MMA_M16N8K4_F64:
    case SIM_MMA_M16N8K8_F64:
    case SIM_MMA_M16N8K16_F64:
    case SIM_MMA_INTEGERS:
    case SIM_LDMATRIX:
    case SIM_STMATRIX:
        require_whole_warp(warp, m);
        sim_tensor_meet(m->kind, warp, w->value);
        break;
    case SIM_WGMMA:
        require_whole_warp(warp, m);
        sim_wgmma_meet(warp, w->value);
        break;
    case SIM_MOVMATRIX:
        require_whole_warp(warp, m);
        move_matrix(w);
        break;
    }
}

/* The open meeting that the lane belongs to, opened if need be. */
SIM_HOT meeting *join(int32_t warp, sim_collective kind, uint32_t mask, int32_t lane) {
    meeting *m = warps->warp[warp].open, *end = m + warps->n_open[warp];
    while (m < end && (m->kind != kind || m->mask != mask))
        ++m;
    if (m == end) {
        *m = (meeting){kind, mask, 0};
        ++warps->n_open[warp];
    }
    m->arrived |= 1u << lane;
    return m;
}

SIM_REPORT static void report_width(sim_collective kind, int width, const sim_place *place) {
    char where[SIM_POSITION];
    sim_defect("wrong width", place->file, place->line,
               "%s calls %s with width %d, not a power of two up to 32",
               sim_block_thread_text(sim_now.block, sim_now.thread, where), names[kind], width);
    sim_abandon();
}

/* All lanes that can come have come. */
static bool is_complete(int32_t warp, const meeting *m) {
    return m->arrived == (m->mask & sim_threads_now->live[warp]);
}

/* Ends the meeting: its lanes have their results and can go on. */
static __attribute__((noinline)) void complete(int32_t warp, meeting *m) {
    const uint32_t lanes = m->arrived;
    compute(&warps->warp[warp], warp, m);
    trace_met(m->kind, warp, lanes);
    *m = warps->warp[warp].open[--warps->n_open[warp]];
    sim_progress();
    sim_schedule_wake(warp, lanes);
}

SIM_HOT uint64_t meet(sim_collective kind, uint32_t mask, uint64_t value, uint32_t operand,
                      uint32_t clamp, const sim_place *place) {
    const int32_t warp = sim_now.thread / SIM_WARP, lane = sim_now.thread % SIM_WARP;
    sim_warp *w = &warps->warp[warp];
    int32_t source;
    if ((mask >> lane & 1u) == 0)
        report_mask(kind, mask, place);
    (void)find_source(kind, lane, operand, clamp, &source);
    w->value[lane] = value;
    w->source[lane] = (uint8_t)source;
    sim_come_to(place);
    sim_schedule_sleep(sim_now.thread);
    meeting *m = join(warp, kind, mask, lane);
    if (is_complete(warp, m))
        complete(warp, m);
    sim_switch();
    return w->result[lane];
}

uint64_t sim_shuffle(sim_collective kind, uint32_t mask, uint64_t value, uint32_t operand,
                     uint32_t clamp, const char *file, int line) {
    return meet(kind, mask, value, operand, clamp, &(sim_place){names[kind], file, line});
}

uint64_t sim_meet(sim_collective kind, uint32_t mask, uint64_t value, uint32_t operand, int width,
                  const char *file, int line) {
    const sim_place place = {names[kind], file, line};
    if (width <= 0 || width > SIM_WARP || (width & (width - 1)) != 0)
        report_width(kind, width, &place);
    return meet(kind, mask, value, operand, clamp_of(kind, width), &place);
}

uint32_t sim_activemask(void) {
    return 1u << sim_now.thread % SIM_WARP;
}

void sim_warp_exit(int32_t thread) {
    const int32_t warp = thread / SIM_WARP;
    meeting *open = warps->warp[warp].open;
    /* downwards: the last takes an ended one's place */
    for (int32_t i = warps->n_open[warp] - 1; i >= 0; --i)
        if (is_complete(warp, &open[i]))
            complete(warp, &open[i]);
}

SIM_REPORT static void report_mismatch(int32_t warp, const meeting *m, const meeting *other) {
    char first[SIM_POSITION], second[SIM_POSITION];
    int32_t lane = first_lane(m->arrived), other_lane = first_lane(other->arrived & m->mask);
    const sim_place *place = place_of(warp, lane);
    const sim_place *other_place = place_of(warp, other_lane);
    sim_defect(m->mask != other->mask ? "mismatched masks" : "mismatched collectives", place->file,
               place->line, "%s calls %s with mask 0x%08x, %s calls %s with mask 0x%08x at %s:%d",
               sim_block_thread_text(sim_now.block, warp * SIM_WARP + lane, first), names[m->kind],
               m->mask, sim_thread_text(warp * SIM_WARP + other_lane, second), names[other->kind],
               other->mask, sim_base_name(other_place->file), other_place->line);
}

bool sim_warps_mismatched(void) {
    for (int32_t warp = 0; warp < SIM_MAX_WARPS; ++warp) {
        const sim_warp *w = &warps->warp[warp];
        for (int32_t i = 0; i < warps->n_open[warp]; ++i)
            for (int32_t j = 0; j < warps->n_open[warp]; ++j)
                if (i != j && (w->open[i].mask & w->open[j].arrived) != 0 &&
                    (w->open[j].mask & w->open[i].arrived) != 0) {
                    report_mismatch(warp, &w->open[i], &w->open[j]);
                    return true;
                }
    }
    return false;
}
