/* The functions that kernels call: the runtime of the simulated device, with PTX's meaning. */
#include "sim/ptx/heap.h"
#include "sim/ptx/internal.h"

#include "sim/block.h"
#include "sim/cluster.h"
#include "sim/proxy.h"
#include "sim/texture.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

_Static_assert((int)PTX_READS == SIM_READS && (int)PTX_WRITES == SIM_WRITES &&
                   (int)PTX_STRONG == SIM_STRONG && (int)PTX_BLOCK_SCOPE == SIM_BLOCK_SCOPE &&
                   (int)PTX_ACQUIRE == SIM_ACQUIRE && (int)PTX_RELEASE == SIM_RELEASE &&
                   (int)PTX_COMPARES == SIM_COMPARES,
               "one meaning on both sides");
_Static_assert((int)PTX_INTEGERS_K32 == SIM_INTEGERS_K32 &&
                   (int)PTX_INTEGERS_UNSIGNED_A == SIM_INTEGERS_UNSIGNED_A &&
                   (int)PTX_INTEGERS_UNSIGNED_B == SIM_INTEGERS_UNSIGNED_B &&
                   (int)PTX_INTEGERS_SATURATE == SIM_INTEGERS_SATURATE,
               "one meaning on both sides");
_Static_assert((int)PTX_REDUCE_ADD == SIM_BULK_ADD && (int)PTX_REDUCE_XOR == SIM_BULK_XOR,
               "one meaning on both sides");

static void call_misaligned(const void *address, uint32_t bytes, const ptx_site *site) {
    char where[SIM_POSITION];
    sim_defect("misaligned address", site->file, site->line,
               "%s accesses %u bytes at %p, which is no multiple of %u",
               sim_block_thread_text(sim_now.block, sim_now.thread, where), bytes, address, bytes);
    sim_abandon();
}

static void call_trap(const char *kind, const char *what, const ptx_site *site) {
    sim_trap(kind, what, site->file, site->line);
}

static void call_failed_assertion(const char *condition, const char *file, uint32_t line,
                                  const char *caller, const ptx_site *site) {
    (void)caller;
    (void)site;
    sim_trap("failed assertion", condition, file, (int)line);
}

static void call_unknown(const char *opcode, const ptx_site *site) {
    char what[160];
    snprintf(what, sizeof what, "the simulated device does not know %s", opcode);
    sim_trap("unknown instruction", what, site->file, site->line);
}

static void (*set_condition)(uint64_t handle, uint32_t value);

void ptx_conditions(void (*set)(uint64_t handle, uint32_t value)) {
    set_condition = set;
}

static void call_set_condition(uint64_t handle, uint32_t value, const ptx_site *site) {
    if (set_condition != NULL)
        set_condition(handle, value);
    else
        call_unknown("cudaGraphSetConditional outside of a graph", site);
}

static int call_barrier(ptx_barrier kind, uint32_t id, uint32_t count, bool aligned, int predicate,
                        const ptx_site *site) {
    static const sim_vote votes[] = {[PTX_BARRIER_SYNC] = SIM_VOTE_NONE,
                                     [PTX_BARRIER_POPC] = SIM_VOTE_COUNT,
                                     [PTX_BARRIER_AND] = SIM_VOTE_AND,
                                     [PTX_BARRIER_OR] = SIM_VOTE_OR};
    if (kind == PTX_BARRIER_ARRIVE) {
        sim_barrier_arrive(id, count, aligned, site->file, site->line);
        return 0;
    }
    return sim_barrier_numbered(id, count, aligned, votes[kind], predicate, site->file, site->line);
}

static uint64_t shuffle(sim_collective kind, uint32_t mask, uint64_t value, uint32_t lane,
                        uint32_t clamp, const ptx_site *site) {
    int32_t source;
    const bool inside = sim_shuffle_source(kind, sim_now.thread % SIM_WARP, lane, clamp, &source);
    return (uint32_t)sim_shuffle(kind, mask, value, lane, clamp, site->file, site->line) |
           (uint64_t)inside << 32;
}

static uint64_t call_meet(ptx_collective kind, uint32_t mask, uint64_t value, uint32_t lane,
                          uint32_t clamp, const ptx_site *site) {
    static const sim_collective kinds[] = {
        [PTX_BALLOT] = SIM_BALLOT,
        [PTX_MATCH_ANY] = SIM_MATCH_ANY,
        [PTX_MATCH_ALL] = SIM_MATCH_ALL,
        [PTX_REDUX_ADD] = SIM_REDUCE_ADD,
        [PTX_REDUX_MIN_U32] = SIM_REDUCE_MIN,
        [PTX_REDUX_MAX_U32] = SIM_REDUCE_MAX,
        [PTX_REDUX_MIN_S32] = SIM_REDUCE_MIN_SIGNED,
        [PTX_REDUX_MAX_S32] = SIM_REDUCE_MAX_SIGNED,
        [PTX_REDUX_AND] = SIM_REDUCE_AND,
        [PTX_REDUX_OR] = SIM_REDUCE_OR,
        [PTX_REDUX_XOR] = SIM_REDUCE_XOR,
        [PTX_SHFL_UP] = SIM_SHUFFLE_UP,
        [PTX_SHFL_DOWN] = SIM_SHUFFLE_DOWN,
        [PTX_SHFL_BFLY] = SIM_SHUFFLE_XOR,
        [PTX_SHFL_IDX] = SIM_SHUFFLE,
        [PTX_SYNCWARP] = SIM_SYNCWARP,
    };
    if (kind >= PTX_SHFL_UP && kind <= PTX_SHFL_IDX)
        return shuffle(kinds[kind], mask, value, lane, clamp, site);
    return sim_meet(kinds[kind], mask, value, 0, SIM_WARP, site->file, site->line);
}

static void call_load_matrix(uint32_t *r, int32_t matrices, bool transposed, const void *row,
                             const ptx_site *site) {
    sim_ldmatrix(r, matrices, transposed, row, site->file, site->line);
}

static void call_store_matrix(const uint32_t *r, int32_t matrices, bool transposed, void *row,
                              const ptx_site *site) {
    sim_stmatrix(r, matrices, transposed, row, site->file, site->line);
}

static uint32_t call_move_matrix(uint32_t r, const ptx_site *site) {
    return sim_movmatrix(r, site->file, site->line);
}

static void call_multiply(ptx_product product, const void *a, const void *b, void *c,
                          const ptx_site *site) {
    static const sim_collective kinds[] = {
        [PTX_M16N8K16_BF16] = SIM_MMA_BF16,         [PTX_M16N8K16_F16] = SIM_MMA_F16,
        [PTX_M16N8K8_TF32] = SIM_MMA_TF32,          [PTX_M8N8K4_F64] = SIM_MMA_F64,
        [PTX_M16N8K8_BF16] = SIM_MMA_K8_BF16,       [PTX_M16N8K8_F16] = SIM_MMA_K8_F16,
        [PTX_M16N8K4_TF32] = SIM_MMA_K4_TF32,       [PTX_M16N8K16_F16_F16] = SIM_MMA_F16_F16,
        [PTX_M16N8K8_F16_F16] = SIM_MMA_K8_F16_F16, [PTX_M16N8K4_F64] = SIM_MMA_M16N8K4_F64,
        [PTX_M16N8K8_F64] = SIM_MMA_M16N8K8_F64,    [PTX_M16N8K16_F64] = SIM_MMA_M16N8K16_F64,
        [PTX_M16N8_INTEGERS] = SIM_MMA_INTEGERS};
    sim_mma(kinds[product], a, b, c, site->file, site->line);
}

static void call_wgmma(const ptx_wgmma *w, uint32_t *c, const ptx_site *site) {
    static const sim_mma_shape shapes[] = {[PTX_M16N8K16_BF16] = SIM_M16N8K16_BF16,
                                           [PTX_M16N8K16_F16] = SIM_M16N8K16_F16,
                                           [PTX_M16N8K8_TF32] = SIM_M16N8K8_TF32,
                                           [PTX_M16N8K16_F16_F16] = SIM_M16N8K16_F16_F16,
                                           [PTX_M16N8_INTEGERS] = SIM_M16N8_INTEGERS};
    const sim_wgmma one = {.product = shapes[w->product],
                           .integers = w->integers,
                           .columns = w->columns,
                           .a = w->a,
                           .b = w->b,
                           .registers = w->registers,
                           .negate_a = w->negate_a,
                           .negate_b = w->negate_b,
                           .transposed_a = w->transposed_a,
                           .transposed_b = w->transposed_b,
                           .zero = w->zero};
    sim_wgmma_issue(&one, c, site);
}

static sim_fetch fetch_of(const ptx_fetch *f) {
    return (sim_fetch){.dimensions = f->dimensions,
                       .layer = f->layer,
                       .layered = f->layered,
                       .cube = f->cube,
                       .whole = f->whole,
                       .index = {f->index[0], f->index[1], f->index[2]},
                       .at = {f->at[0], f->at[1], f->at[2]},
                       .level = f->level};
}

static void call_texture(uint64_t object, const ptx_fetch *f, uint32_t result[4],
                         const ptx_site *site) {
    const sim_fetch fetch = fetch_of(f);
    sim_texture_fetch(object, &fetch, result, site);
}

static void call_gather(uint64_t object, const ptx_fetch *f, uint32_t channel, uint32_t result[4],
                        const ptx_site *site) {
    const sim_fetch fetch = fetch_of(f);
    sim_texture_gather(object, &fetch, channel, result, site);
}

static char *call_surface(uint64_t object, const ptx_fetch *f, uint32_t bytes, ptx_outside outside,
                          const ptx_site *site) {
    static const sim_outside what[] = {[PTX_OUTSIDE_TRAP] = SIM_OUTSIDE_TRAP,
                                       [PTX_OUTSIDE_CLAMP] = SIM_OUTSIDE_CLAMP,
                                       [PTX_OUTSIDE_ZERO] = SIM_OUTSIDE_ZERO};
    const sim_fetch fetch = fetch_of(f);
    return sim_surface_address(object, &fetch, bytes, what[outside], site);
}

static void call_copy(void *shared, const void *global, int32_t bytes, int32_t valid,
                      const ptx_site *site) {
    sim_cp_async(shared, global, bytes, valid, site->file, site->line);
}

static void call_copy_wait(int32_t groups, bool all) {
    if (all)
        sim_cp_async_commit();
    sim_cp_async_wait(groups);
}

static void call_atomic_done(bool changed, const ptx_site *site) {
    sim_atomic_turn(changed, site->file, site->line);
}

static void call_poll(const ptx_site *site) {
    sim_poll("a read of memory", site->file, site->line);
}

static void call_fence(uint32_t how, const ptx_site *site) {
    trace_fence(how);
    sim_poll("a fence", site->file, site->line);
}

static void call_turn(const ptx_site *site) {
    sim_turn(site->file, site->line);
}

static void call_sleep(const ptx_site *site) {
    sim_sleep(site->file, site->line);
}

static uint64_t call_clock(void) {
    return (uint64_t)sim_clock();
}

/* The compiler may not move the operation over the changes of mode: all goes through memory. */
static double call_arithmetic(ptx_operation operation, ptx_rounding mode, double a, double b,
                              double c) {
    static const int modes[] = {[RN] = FE_TONEAREST,
                                [RZ] = FE_TOWARDZERO,
                                [RM] = FE_DOWNWARD,
                                [RP] = FE_UPWARD,
                                [RNA] = FE_TONEAREST};
    volatile double x = a, y = b, z = c, result = 0;
    fesetround(modes[mode]);
    switch (operation) {
    case PTX_ADD:
        result = x + y;
        break;
    case PTX_SUB:
        result = x - y;
        break;
    case PTX_MUL:
        result = x * y;
        break;
    case PTX_FMA:
        result = fma(x, y, z);
        break;
    case PTX_DIV:
        result = x / y;
        break;
    case PTX_SQRT:
        result = sqrt(x);
        break;
    }
    fesetround(FE_TONEAREST);
    return result;
}

static uint32_t call_cluster_rank_of(const void *address) {
    sim_range range;
    uint32_t rank;
    return sim_cluster_find(address, &rank, &range) ? rank : sim_cluster_rank();
}

/* setmaxnreg: for all lanes of a warp. */
static void call_registers(uint32_t n, const ptx_site *site) {
    sim_registers_set((int32_t)n, site->file, site->line);
    (void)sim_meet(SIM_BALLOT, UINT32_MAX, 0, 0, SIM_WARP, site->file, site->line);
}

static void fill_proxy(ptx_context *x) {
    x->bulk_load_to_all = sim_bulk_load_to_all;
    x->tensor_load_to_all = sim_tensor_load_to_all;
    x->cluster_arrive = sim_cluster_arrive;
    x->cluster_wait = sim_cluster_wait;
    x->cluster_address = sim_cluster_address;
    x->cluster_map = sim_cluster_map;
    x->cluster_map_generic = sim_cluster_map_generic;
    x->cluster_rank_of = call_cluster_rank_of;
    x->registers = call_registers;
    x->mbarrier_init = sim_mbarrier_init;
    x->mbarrier_invalidate = sim_mbarrier_invalidate;
    x->mbarrier_expect = sim_mbarrier_expect;
    x->mbarrier_arrive = sim_mbarrier_arrive;
    x->mbarrier_test = sim_mbarrier_test;
    x->copy_arrive = sim_mbarrier_copy_arrive;
    x->bulk_load = sim_bulk_load;
    x->bulk_store = sim_bulk_store;
    x->tensor_load = sim_tensor_load;
    x->tensor_store = sim_tensor_store;
    x->bulk_commit = sim_bulk_commit;
    x->bulk_wait = sim_bulk_wait;
    x->wgmma = call_wgmma;
    x->wgmma_fence = sim_wgmma_fence;
    x->wgmma_commit = sim_wgmma_commit;
    x->wgmma_wait = sim_wgmma_wait;
    x->wgmma_result = sim_wgmma_result;
    x->wgmma_taken = sim_wgmma_taken;
    x->wgmma_touched = sim_wgmma_touched;
    x->wgmma_overwritten = sim_wgmma_overwritten;
    x->wgmma_issued = sim_wgmma_issued;
    x->wgmma_factor_written = sim_wgmma_factor_written;
    x->wgmma_unfenced = sim_wgmma_unfenced;
}

void ptx_context_fill(ptx_context *x) {
    x->access = sim_trace_site;
    x->misaligned = call_misaligned;
    x->trap = call_trap;
    x->failed_assertion = call_failed_assertion;
    x->unknown = call_unknown;
    x->barrier = call_barrier;
    x->meet = call_meet;
    x->load_matrix = call_load_matrix;
    x->store_matrix = call_store_matrix;
    x->move_matrix = call_move_matrix;
    x->multiply = call_multiply;
    x->texture = call_texture;
    x->gather = call_gather;
    x->surface = call_surface;
    x->copy = call_copy;
    x->copy_commit = sim_cp_async_commit;
    x->copy_wait = call_copy_wait;
    x->atomic_done = call_atomic_done;
    x->poll = call_poll;
    x->fence = call_fence;
    x->proxy_fence = sim_proxy_fence;
    x->turn = call_turn;
    x->sleep = call_sleep;
    x->progress = sim_progress;
    x->clock = call_clock;
    x->print = ptx_print;
    x->heap_take = ptx_heap_take;
    x->heap_return = ptx_heap_return;
    x->set_condition = call_set_condition;
    x->approximate = sfu_f32;
    x->approximate_f64 = sfu_f64;
    x->divide = sfu_divide;
    x->rsqrt_f64 = sfu_rsqrt_f64;
    x->arithmetic = call_arithmetic;
    fill_proxy(x);
}
