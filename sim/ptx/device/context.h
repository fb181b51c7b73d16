/*
 * The runtime's side of a compiled kernel: where its memory lies, the thread that runs, and a table
 * of functions. This folder's headers are compiled twice: with the runtime, and in front of the C
 * code of each kernel. They may therefore include only headers that the kernel's compiler brings
 * along.
 */
#ifndef ASSAY_SIM_PTX_DEVICE_CONTEXT_H
#define ASSAY_SIM_PTX_DEVICE_CONTEXT_H

#include "sim/ptx/device/site.h"
#include "sim/sfu/sfu.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An instruction's place in the source, for reports. */
typedef sim_site ptx_site;

typedef struct ptx_three {
    uint32_t x, y, z;
} ptx_three;

typedef enum ptx_barrier {
    PTX_BARRIER_SYNC,
    PTX_BARRIER_ARRIVE,
    PTX_BARRIER_POPC,
    PTX_BARRIER_AND,
    PTX_BARRIER_OR,
} ptx_barrier;

/* Warp collectives. ballot: the lanes that met in the upper half of the result. shfl: the value,
 * and the predicate in bit 32. */
typedef enum ptx_collective {
    PTX_BALLOT,
    PTX_MATCH_ANY,
    PTX_MATCH_ALL,
    PTX_REDUX_ADD,
    PTX_REDUX_MIN_U32,
    PTX_REDUX_MAX_U32,
    PTX_REDUX_MIN_S32,
    PTX_REDUX_MAX_S32,
    PTX_REDUX_AND,
    PTX_REDUX_OR,
    PTX_REDUX_XOR,
    PTX_SHFL_UP,
    PTX_SHFL_DOWN,
    PTX_SHFL_BFLY,
    PTX_SHFL_IDX,
    PTX_SYNCWARP,
} ptx_collective;

typedef enum ptx_product {
    PTX_M16N8K16_BF16,
    PTX_M16N8K16_F16,
    PTX_M16N8K8_TF32,
    PTX_M8N8K4_F64,
    PTX_M16N8K8_BF16,
    PTX_M16N8K8_F16,
    PTX_M16N8K4_TF32,
    PTX_M16N8K16_F16_F16,
    PTX_M16N8K8_F16_F16,
    PTX_M16N8K4_F64,
    PTX_M16N8K8_F64,
    PTX_M16N8K16_F64,
    PTX_M16N8_INTEGERS, /* a[4]: of which, as sim/mma.h has it */
} ptx_product;
enum {
    PTX_INTEGERS_K32 = 1,
    PTX_INTEGERS_UNSIGNED_A = 2,
    PTX_INTEGERS_UNSIGNED_B = 4,
    PTX_INTEGERS_SATURATE = 8,
};

/* How memory is accessed, as sim/trace.h has it. */
enum {
    PTX_READS = 1,
    PTX_WRITES = 2,
    PTX_STRONG = 4,
    PTX_BLOCK_SCOPE = 8,
    PTX_ACQUIRE = 16,
    PTX_RELEASE = 32,
    PTX_COMPARES = 64,
};

typedef enum ptx_reduction {
    PTX_REDUCE_ADD,
    PTX_REDUCE_MIN,
    PTX_REDUCE_MAX,
    PTX_REDUCE_AND,
    PTX_REDUCE_OR,
    PTX_REDUCE_XOR,
} ptx_reduction;

typedef enum ptx_rounding { RN, RZ, RM, RP, RNA } ptx_rounding;

typedef enum ptx_operation { PTX_ADD, PTX_SUB, PTX_MUL, PTX_FMA, PTX_DIV, PTX_SQRT } ptx_operation;

/* A wgmma, as proxy.h has it. */
typedef struct ptx_wgmma {
    ptx_product product; /* of 16 rows and 8 columns */
    uint32_t integers;   /* PTX_M16N8_INTEGERS: of which */
    uint32_t columns;
    const uint32_t *registers; /* of a; NULL: it lies in shared memory */
    uint64_t a, b;             /* descriptors */
    bool negate_a, negate_b, transposed_a, transposed_b;
    bool zero; /* the sums begin at zero */
} ptx_wgmma;

/* Where a texture is read or a surface accessed, and what an access outside does, as texture.h has
 * it. */
typedef struct ptx_fetch {
    uint32_t dimensions, layer;
    bool layered, cube, whole;
    int32_t index[3];
    float at[3];
    float level;
} ptx_fetch;

typedef enum ptx_outside { PTX_OUTSIDE_TRAP, PTX_OUTSIDE_CLAMP, PTX_OUTSIDE_ZERO } ptx_outside;

typedef struct ptx_context {
    const ptx_three *thread, *block; /* of the thread that runs: %tid, %ctaid */
    ptx_three block_shape, grid_shape, cluster_shape;
    const int32_t *thread_number;
    char *const *shared; /* that of the block that runs; its addresses count from there */
    uint32_t shared_bytes, dynamic_bytes;
    const char *parameters;
    size_t parameter_bytes;
    char *const *stacks, *const *stacks_end; /* where all threads' local memory lies */
    char *const *globals;                    /* by a variable's index in its module */
    uint32_t *grid_barrier; /* the barrier at which cooperative groups wait for the grid; NULL: they
                               may not */

    /* Recording, of an access that comes next: only kernels compiled with PTX_RECORD call it.
     * `value`: what will be written or, with PTX_COMPARES, is compared with; NULL: nothing. */
    void (*access)(const void *address, size_t bytes, uint32_t how, const void *value,
                   uint32_t site);

    /* An address that is no multiple of `bytes`. Ends the launch, as the next three do. */
    void (*misaligned)(const void *address, uint32_t bytes, const ptx_site *site);
    void (*trap)(const char *kind, const char *what, const ptx_site *site);
    void (*failed_assertion)(const char *condition, const char *file, uint32_t line,
                             const char *function, const ptx_site *site);
    void (*unknown)(const char *opcode, const ptx_site *site);

    int (*barrier)(ptx_barrier kind, uint32_t id, uint32_t count, bool aligned, int predicate,
                   const ptx_site *site);
    uint64_t (*meet)(ptx_collective kind, uint32_t mask, uint64_t value, uint32_t lane,
                     uint32_t clamp, const ptx_site *site);
    void (*load_matrix)(uint32_t *r, int32_t matrices, bool transposed, const void *row,
                        const ptx_site *site);
    void (*store_matrix)(const uint32_t *r, int32_t matrices, bool transposed, void *row,
                         const ptx_site *site);
    uint32_t (*move_matrix)(uint32_t r, const ptx_site *site);
    void (*multiply)(ptx_product product, const void *a, const void *b, void *c,
                     const ptx_site *site);

    /* wgmma, as proxy.h has it: sums that are under way are tags in their registers. */
    void (*wgmma)(const ptx_wgmma *w, uint32_t *c, const ptx_site *site);
    void (*wgmma_fence)(void);
    void (*wgmma_commit)(void);
    void (*wgmma_wait)(uint32_t groups, const ptx_site *site);
    uint32_t (*wgmma_result)(uint32_t word);
    void (*wgmma_taken)(void);
    void (*wgmma_touched)(uint32_t word, const ptx_site *site);
    void (*wgmma_overwritten)(uint32_t word, const ptx_site *site);
    uint32_t (*wgmma_issued)(void);
    void (*wgmma_factor_written)(uint32_t issued, const ptx_site *site);
    void (*wgmma_unfenced)(const ptx_site *site);

    void (*texture)(uint64_t object, const ptx_fetch *fetch, uint32_t result[4],
                    const ptx_site *site);
    void (*gather)(uint64_t object, const ptx_fetch *fetch, uint32_t channel, uint32_t result[4],
                   const ptx_site *site);
    char *(*surface)(uint64_t object, const ptx_fetch *fetch, uint32_t bytes, ptx_outside outside,
                     const ptx_site *site);

    void (*copy)(void *shared, const void *global, int32_t bytes, int32_t valid,
                 const ptx_site *site);
    void (*copy_commit)(void);
    void (*copy_wait)(int32_t groups, bool all);
    void (*copy_arrive)(void *barrier, bool counted, const ptx_site *site);

    /* Bulk copies, and of boxes of tensors from `at` on; `type` as tensor_map.h has it.
     * `reduction`: -1: none. */
    void (*bulk_load)(void *shared, const void *global, uint32_t bytes, void *barrier,
                      const ptx_site *site);
    void (*bulk_store)(void *global, const void *shared, uint32_t bytes, int reduction,
                       uint32_t type, const ptx_site *site);
    void (*tensor_load)(void *shared, const void *map, uint32_t rank, const int32_t *at,
                        void *barrier, const ptx_site *site);
    void (*tensor_store)(const void *map, uint32_t rank, const int32_t *at, const void *shared,
                         int reduction, const ptx_site *site);
    void (*bulk_load_to_all)(void *shared, const void *global, uint32_t bytes, void *barrier,
                             uint32_t mask, const ptx_site *site);
    void (*tensor_load_to_all)(void *shared, const void *map, uint32_t rank, const int32_t *at,
                               void *barrier, uint32_t mask, const ptx_site *site);
    void (*bulk_commit)(void);
    void (*bulk_wait)(uint32_t groups, bool read, const ptx_site *site);

    /* Clusters (sim/cluster.h). */
    void (*cluster_arrive)(bool releases, const ptx_site *site);
    void (*cluster_wait)(bool acquires, const ptx_site *site);
    char *(*cluster_address)(uint32_t address, const ptx_site *site);
    uint32_t (*cluster_map)(uint32_t address, uint32_t rank, const ptx_site *site);
    char *(*cluster_map_generic)(const void *address, uint32_t rank, const ptx_site *site);
    uint32_t (*cluster_rank_of)(const void *address);
    void (*registers)(uint32_t n, const ptx_site *site);

    void (*mbarrier_init)(void *barrier, uint32_t count, const ptx_site *site);
    void (*mbarrier_invalidate)(void *barrier, const ptx_site *site);
    void (*mbarrier_expect)(void *barrier, int64_t bytes, const ptx_site *site);
    uint64_t (*mbarrier_arrive)(void *barrier, uint32_t count, int64_t expected, bool drop,
                                bool complete, bool releases, const ptx_site *site);
    bool (*mbarrier_test)(const void *barrier, uint32_t parity, bool try, bool acquires,
                          const ptx_site *site);

    /* After an atomic; `changed`: memory differs now. Others may run, as they may in the next three
     * and after a strong load. */
    void (*atomic_done)(bool changed, const ptx_site *site);
    void (*poll)(const ptx_site *site);
    void (*fence)(uint32_t how, const ptx_site *site);
    void (*proxy_fence)(const ptx_site *site);
    /* A loop has gone round PTX_TURNS times more. */
    void (*turn)(const ptx_site *site);
    void (*sleep)(const ptx_site *site);
    void (*progress)(void); /* a strong store */
    uint64_t (*clock)(void);
    int32_t (*print)(const char *format, const char *arguments);
    /* malloc() and free() of the device. */
    void *(*heap_take)(uint64_t bytes);
    void (*heap_return)(void *memory, const ptx_site *site);
    /* cudaGraphSetConditional */
    void (*set_condition)(uint64_t handle, uint32_t value, const ptx_site *site);

    /* sfu_f32(), sfu_f64(), sfu_divide(), sfu_rsqrt_f64(). */
    uint32_t (*approximate)(sfu_function f, uint32_t a, bool ftz);
    uint32_t (*approximate_f64)(sfu_function f, uint32_t upper);
    uint32_t (*divide)(uint32_t a, uint32_t b, bool full, bool ftz);
    double (*rsqrt_f64)(double a);

    /* fp64 in another rounding than to nearest. */
    double (*arithmetic)(ptx_operation operation, ptx_rounding mode, double a, double b, double c);
} ptx_context;

/* A kernel, and a function of a kernel, its arguments being where results and parameters lie. True:
 * the thread has exited. */
typedef bool ptx_code(const ptx_context *x, char *const *arguments);

enum { PTX_TURNS = 1 << 16 };

/* Every compiled kernel exports its code by this name, and its sites. */
#define PTX_ENTRY "ptx_entry"
#define PTX_SITES "ptx_sites"
typedef struct ptx_site_list {
    const ptx_site *sites;
    uint32_t n;
} ptx_site_list;

#endif
