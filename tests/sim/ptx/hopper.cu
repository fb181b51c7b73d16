/*
 * Small kernels for Hopper with one defect each, and the same without it: hopper.def lists them.
 * All are one kernel. A line whose access races ends in "races".
 *
 * hopper.ptx is what nvcc makes of it with -O3 -arch=sm_90a -lineinfo -ptx, without the folders in
 * the names of files.
 */
#include <stdint.h>

#define KERNEL static __device__ __noinline__ void
#define T      ((int)threadIdx.x)

/* Instructions are macros, so that each stands at the line that uses it. */
#define SYNC        __syncthreads()
#define HERE        asm volatile("" ::: "memory")
#define PROXY_FENCE asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define INIT(bar, n)                                                                               \
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(n) : "memory")
#define INVAL(bar) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(bar) : "memory")
#define EXPECT(bar, bytes)                                                                         \
    asm volatile(                                                                                  \
        "{.reg .b64 t; mbarrier.arrive.expect_tx.shared::cta.b64 t, [%0], %1;}" ::"r"(bar),        \
        "r"(bytes)                                                                                 \
        : "memory")
#define ARRIVE(bar)                                                                                \
    asm volatile("{.reg .b64 t; mbarrier.arrive.shared::cta.b64 t, [%0];}" ::"r"(bar) : "memory")
#define GROUP_SYNC(threads) asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory")
#define WAIT(bar, parity)                                                                          \
    asm volatile(                                                                                  \
        "{.reg .pred p; L: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra L;}" ::   \
            "r"(bar),                                                                              \
        "r"(parity)                                                                                \
        : "memory")
#define LOAD(to, from, bytes, bar)                                                                   \
    asm volatile(                                                                                    \
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: \
            "r"(to),                                                                                 \
        "l"(from), "r"(bytes), "r"(bar)                                                              \
        : "memory")
#define STORE(to, from, bytes)                                                                     \
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),          \
                 "r"(from), "r"(bytes)                                                             \
                 : "memory")
#define ADD(to, from, bytes)                                                                       \
    asm volatile(                                                                                  \
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;" ::"l"(to),    \
        "r"(from), "r"(bytes)                                                                      \
        : "memory")
#define COPY(to, from)                                                                             \
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory")
#define COMMIT         asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define STORED_READ(n) asm volatile("cp.async.bulk.wait_group.read " #n ";" ::: "memory")
#define STORED(n)      asm volatile("cp.async.bulk.wait_group " #n ";" ::: "memory")
#define MMA_FENCE      asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define MMA_COMMIT     asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define MMA_WAIT(n)    asm volatile("wgmma.wait_group.sync.aligned " #n ";" ::: "memory")
/* 64 x 8 of f16, from shared memory or from registers. */
#define MMA(d, a, b)                                                                                 \
    asm volatile(                                                                                    \
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;" \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                             \
        : "l"(a), "l"(b)                                                                             \
        : "memory")
#define MMA_REGISTERS(d, a, b)                                                                                  \
    asm volatile(                                                                                               \
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1, 0;" \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                        \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)                                                    \
        : "memory")
/* A value that the compiler knows nothing of, in a register. */
#define OPAQUE(x) asm volatile("" : "+f"(x))

#define CLUSTER_ARRIVE  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory")
#define CLUSTER_RELAXED asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory")
#define CLUSTER_WAIT    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory")
#define REMOTE_LOAD(value, address)                                                                \
    asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(value) : "r"(address) : "memory")
#define REMOTE_STORE(address, value)                                                               \
    asm volatile("st.shared::cluster.s32 [%0], %1;" ::"r"(address), "r"(value) : "memory")
#define REMOTE_ADD(address, value)                                                                 \
    asm volatile("red.shared::cluster.add.s32 [%0], %1;" ::"r"(address), "r"(value) : "memory")
#define REMOTE_ARRIVE(bar)                                                                         \
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(bar)         \
                 : "memory")
#define LOAD_TO_BOTH(to, from, bytes, bar)                                                         \
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"               \
                 ".multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(to),                        \
                 "l"(from), "r"(bytes), "r"(bar), "h"((unsigned short)3)                           \
                 : "memory")

enum { STAGE = 512, A_BYTES = 2048, B_BYTES = 256 };

static __shared__ __align__(1024) unsigned char memory[8192];
static __shared__ __align__(8) uint64_t bars[4];

static __device__ __forceinline__ uint32_t at(const void *p) {
    return (uint32_t)__cvta_generic_to_shared(p);
}

static __device__ __forceinline__ uint32_t bar(int i) {
    return at(&bars[i]);
}

/* Of matrices without a swizzle: cores of 8 x 16 bytes, the next 8 rows behind them. */
static __device__ __forceinline__ uint64_t matrix(const void *p, uint32_t leading) {
    return (uint64_t)((at(p) & 0x3ffff) >> 4) | (uint64_t)(leading >> 4) << 16 |
           (uint64_t)(128 >> 4) << 32;
}

static __device__ __forceinline__ void begin(int n, int count) {
    if (T == 0) {
        for (int i = 0; i < n; ++i)
            INIT(bar(i), count);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    SYNC;
}

static __device__ __forceinline__ int *ints(int byte) {
    return (int *)(memory + byte);
}

/* All of the memory that products read. */
static __device__ __forceinline__ void fill() {
    for (int i = T; i < 1024; i += (int)blockDim.x)
        ints(0)[i] = 0x3c003c00;
    PROXY_FENCE;
    SYNC;
}

/* ---- a thread's write, and the asynchronous proxy ---- */

KERNEL store_without_fence(bool right, int *out) {
    ints(0)[T] = T; // races
    if (right)
        PROXY_FENCE;
    SYNC;
    if (T == 0) {
        STORE(out, at(memory), STAGE); // races
        COMMIT;
        STORED_READ(0);
    }
}

KERNEL store_fence_before_write(bool right, int *out) {
    if (!right)
        PROXY_FENCE;
    ints(0)[T] = T; // races
    if (right)
        PROXY_FENCE;
    SYNC;
    if (T == 0) {
        STORE(out, at(memory), STAGE); // races
        COMMIT;
        STORED_READ(0);
    }
}

KERNEL store_fence_of_one_thread(bool right, int *out) {
    ints(0)[T] = T; // races
    if (right)
        PROXY_FENCE;
    SYNC;
    if (T == 0) {
        if (!right)
            PROXY_FENCE;
        STORE(out, at(memory), STAGE); // races
        COMMIT;
        STORED_READ(0);
    }
}

KERNEL store_fence_behind_barrier(bool right, int *out) {
    ints(0)[T] = T; // races
    if (right)
        PROXY_FENCE;
    SYNC;
    if (!right)
        PROXY_FENCE;
    if (T == 0) {
        STORE(out, at(memory), STAGE); // races
        COMMIT;
        STORED_READ(0);
    }
}

KERNEL store_fence_without_barrier(bool right, int *out) {
    ints(0)[T] = T; // races
    PROXY_FENCE;
    if (right)
        SYNC;
    if (T == 0) {
        STORE(out, at(memory), STAGE); // races
        COMMIT;
        STORED_READ(0);
    }
    SYNC;
}

KERNEL store_threadfence_for_proxy_fence(bool right, int *out) {
    ints(0)[T] = T; // races
    if (right)
        PROXY_FENCE;
    else
        __threadfence();
    SYNC;
    if (T == 0) {
        STORE(out, at(memory), STAGE); // races
        COMMIT;
        STORED_READ(0);
    }
}

KERNEL store_second_tile_without_fence(bool right, int *out) {
    for (int tile = 0; tile < 2; ++tile) {
        ints(STAGE * tile)[T] = T; // races
        if (right || tile == 0)
            PROXY_FENCE;
        SYNC;
        if (T == 0) {
            STORE(out + 128 * tile, at(memory + STAGE * tile), STAGE); // races
            COMMIT;
            STORED_READ(0);
        }
    }
}

KERNEL reduce_without_fence(bool right, int *out) {
    ints(0)[T] = T; // races
    if (right)
        PROXY_FENCE;
    SYNC;
    if (T == 0) {
        ADD(out, at(memory), STAGE); // races
        COMMIT;
        STORED_READ(0);
    }
}

KERNEL zeroed_state_without_fence(bool right, int *out) {
    const int tiles = out[1000]; /* none */
    ints(0)[T] = 0;              // races
    if (right)
        PROXY_FENCE;
    for (int i = 0; i < tiles; ++i) {
        ints(0)[T] += i;
        PROXY_FENCE;
    }
    SYNC;
    if (T == 0) {
        STORE(out, at(memory), STAGE); // races
        COMMIT;
        STORED_READ(0);
    }
}

KERNEL load_over_a_write(bool right, int *out, const int *in) {
    begin(1, 1);
    ints(0)[T] = T; // races
    if (right)
        PROXY_FENCE;
    SYNC;
    if (T == 0) {
        EXPECT(bar(0), STAGE);
        LOAD(at(memory), in, STAGE, bar(0)); // races
    }
    WAIT(bar(0), 0);
    out[T] = ints(0)[T];
}

KERNEL load_of_what_was_written(bool right, int *out) {
    begin(1, 1);
    out[T] = T; // races
    if (right)
        asm volatile("fence.proxy.async;" ::: "memory");
    SYNC;
    if (T == 0) {
        EXPECT(bar(0), STAGE);
        LOAD(at(memory), out, STAGE, bar(0)); // races
    }
    WAIT(bar(0), 0);
    out[128 + T] = ints(0)[T];
}

KERNEL load_behind_own_read(bool right, int *out, const int *in) {
    begin(2, 1);
    if (T == 0) {
        EXPECT(bar(0), STAGE);
        LOAD(at(memory), in, STAGE, bar(0));
        WAIT(bar(0), 0);
        out[0] = ints(0)[5]; // races
        if (right)
            PROXY_FENCE;
        EXPECT(bar(1), STAGE);
        LOAD(at(memory), in + 128, STAGE, bar(1)); // races
        WAIT(bar(1), 0);
        out[1] = ints(0)[5];
    }
}

KERNEL product_without_fence(bool right, float *out) {
    float d[4] = {0, 0, 0, 0};
    for (int i = T; i < 1024; i += 128)
        ints(0)[i] = 0x3c003c00; // races
    if (right)
        PROXY_FENCE;
    SYNC;
    MMA_FENCE;
    MMA(d, matrix(memory, 1024), matrix(memory + A_BYTES, 128)); // races
    MMA_COMMIT;
    MMA_WAIT(0);
    out[T] = d[0] + d[1] + d[2] + d[3];
}

KERNEL product_fence_without_barrier(bool right, float *out) {
    float d[4] = {0, 0, 0, 0};
    for (int i = T; i < 1024; i += 128)
        ints(0)[i] = 0x3c003c00; // races
    PROXY_FENCE;
    if (right)
        SYNC;
    MMA_FENCE;
    MMA(d, matrix(memory, 1024), matrix(memory + A_BYTES, 128)); // races
    MMA_COMMIT;
    MMA_WAIT(0);
    out[T] = d[0] + d[1] + d[2] + d[3];
}

KERNEL product_of_changed_tile(bool right, float *out) {
    float d[4] = {0, 0, 0, 0};
    fill();
    if (T < 64)
        ints(A_BYTES)[T] = 0x40004000; // races
    if (right)
        PROXY_FENCE;
    SYNC;
    MMA_FENCE;
    MMA(d, matrix(memory, 1024), matrix(memory + A_BYTES, 128)); // races
    MMA_COMMIT;
    MMA_WAIT(0);
    out[T] = d[0] + d[1] + d[2] + d[3];
}

KERNEL product_of_copied_tile(bool right, float *out, const int *in) {
    float d[4] = {0, 0, 0, 0};
    fill();
    if (T < 16)
        COPY(at(memory + A_BYTES + 16 * T), in + 4 * T); // races
    asm volatile("cp.async.wait_all;" ::: "memory");
    if (right)
        PROXY_FENCE;
    SYNC;
    MMA_FENCE;
    MMA(d, matrix(memory, 1024), matrix(memory + A_BYTES, 128)); // races
    MMA_COMMIT;
    MMA_WAIT(0);
    out[T] = d[0] + d[1] + d[2] + d[3];
}

/* ---- copies that no thread waits for ---- */

KERNEL load_not_awaited(bool right, int *out, const int *in) {
    begin(1, 1);
    if (T == 0) {
        EXPECT(bar(0), STAGE);
        LOAD(at(memory), in, STAGE, bar(0)); // races
    }
    if (right)
        WAIT(bar(0), 0);
    out[T] = ints(0)[T]; // races
    WAIT(bar(0), 0);
}

KERNEL second_load_not_awaited(bool right, int *out, const int *in) {
    begin(2, 1);
    if (T == 0) {
        EXPECT(bar(0), STAGE);
        LOAD(at(memory), in, STAGE, bar(0));
        EXPECT(bar(1), STAGE);
        LOAD(at(memory + STAGE), in + 128, STAGE, bar(1)); // races
    }
    WAIT(bar(0), 0);
    if (right)
        WAIT(bar(1), 0);
    out[T] = ints(0)[T] + ints(STAGE)[T]; // races
    WAIT(bar(1), 0);
}

KERNEL product_before_its_load(bool right, float *out, const int *in) {
    float d[4] = {0, 0, 0, 0};
    begin(1, 1);
    fill();
    if (T == 0) {
        EXPECT(bar(0), B_BYTES);
        LOAD(at(memory + A_BYTES), in, B_BYTES, bar(0)); // races
    }
    if (right)
        WAIT(bar(0), 0);
    MMA_FENCE;
    MMA(d, matrix(memory, 1024), matrix(memory + A_BYTES, 128)); // races
    MMA_COMMIT;
    MMA_WAIT(0);
    WAIT(bar(0), 0);
    out[T] = d[0] + d[1] + d[2] + d[3];
}

KERNEL wrong_parity(bool right, int *out, const int *in) {
    int sum = 0;
    begin(1, 1);
    for (int step = 0; step < 2; ++step) {
        if (T == 0) {
            EXPECT(bar(0), STAGE);
            LOAD(at(memory), in + 128 * step, STAGE, bar(0)); // races
        }
        WAIT(bar(0), right ? step : 0);
        sum += ints(0)[T]; // races
        SYNC;
    }
    WAIT(bar(0), 1);
    out[T] = sum;
}

KERNEL parity_of_the_other(bool right, int *out, const int *in) {
    begin(1, 1);
    if (T == 0) {
        EXPECT(bar(0), STAGE);
        LOAD(at(memory), in, STAGE, bar(0)); // races
    }
    WAIT(bar(0), right ? 0 : 1);
    out[T] = ints(0)[T]; // races
    WAIT(bar(0), 0);
}

KERNEL parity_of_the_loop(bool right, int *out, const int *in) {
    int sum = 0;
    begin(2, 1);
    for (int step = 0; step < 2; ++step) { /* each barrier has its first phase */
        if (T == 0) {
            EXPECT(bar(step), STAGE);
            LOAD(at(memory + STAGE * step), in + 128 * step, STAGE, bar(step)); // races
        }
        WAIT(bar(step), right ? 0 : step & 1);
        sum += ints(STAGE * step)[T]; // races
    }
    WAIT(bar(1), 0);
    out[T] = sum;
}

KERNEL result_read_before_stored(bool right, int *out) {
    ints(0)[T] = T;
    PROXY_FENCE;
    SYNC;
    if (T == 0) {
        STORE(out, at(memory), STAGE); // races
        COMMIT;
        if (right)
            STORED(0);
        else
            STORED_READ(0);
        out[200] = out[7]; // races
        STORED(0);
    }
}

KERNEL flag_before_stored(bool right, int *out) {
    if (blockIdx.x == 0) {
        ints(0)[T] = T;
        PROXY_FENCE;
        SYNC;
        if (T == 0) {
            STORE(out, at(memory), STAGE); // races
            COMMIT;
            if (right)
                STORED(0);
            else
                STORED_READ(0);
            asm volatile("st.release.gpu.global.s32 [%0], 1;" ::"l"(out + 300) : "memory");
        }
        return;
    }
    int set = 0;
    while (set == 0)
        asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(set) : "l"(out + 300) : "memory");
    out[400 + T] = out[T]; // races
}

/* ---- memory that is used again too early ---- */

KERNEL stage_stored_while_filled(bool right, int *out, const int *in) {
    begin(1, 1);
    ints(0)[T] = T;
    PROXY_FENCE;
    SYNC;
    if (T == 0) {
        STORE(out, at(memory), STAGE); // races
        COMMIT;
        if (right)
            STORED_READ(0);
        else
            STORED_READ(1);
        EXPECT(bar(0), STAGE);
        LOAD(at(memory), in, STAGE, bar(0)); // races
        WAIT(bar(0), 0);
        STORED_READ(0);
    }
}

KERNEL stage_stored_while_written(bool right, int *out) {
    for (int tile = 0; tile < 2; ++tile) {
        ints(0)[T] = T + tile; // races
        PROXY_FENCE;
        SYNC;
        if (T == 0) {
            STORE(out + 128 * tile, at(memory), STAGE); // races
            COMMIT;
            if (right)
                STORED_READ(0);
        }
        SYNC;
    }
    if (T == 0)
        STORED_READ(0);
}

KERNEL wait_of_another_thread(bool right, int *out) {
    for (int tile = 0; tile < 2; ++tile) {
        ints(0)[T] = T + tile; // races
        PROXY_FENCE;
        SYNC;
        if (T == 0) {
            STORE(out + 128 * tile, at(memory), STAGE); // races
            COMMIT;
        }
        if (T == (right ? 0 : 32))
            STORED_READ(0);
        SYNC;
    }
    if (T == 0)
        STORED_READ(0);
}

KERNEL stage_refilled_while_read(bool right, int *out, const int *in) {
    int sum = 0;
    begin(1, 1);
    for (int step = 0; step < 2; ++step) {
        if (T == 0) {
            EXPECT(bar(0), STAGE);
            LOAD(at(memory), in + 128 * step, STAGE, bar(0)); // races
        }
        WAIT(bar(0), step);
        sum += ints(0)[T]; // races
        if (right)
            SYNC;
    }
    out[T] = sum;
}

/* Bars 0, 1: full; 2: empty. */
KERNEL empty_barrier_not_awaited(bool right, int *out, const int *in) {
    if (T == 0) {
        INIT(bar(0), 1);
        INIT(bar(2), 96);
    }
    SYNC;
    if (T < 32) {
        for (int step = 0; T == 0 && step < 3; ++step) {
            if (right && step > 0)
                WAIT(bar(2), (step - 1) & 1);
            EXPECT(bar(0), STAGE);
            LOAD(at(memory), in + 128 * step, STAGE, bar(0)); // races
            WAIT(bar(0), step & 1);
        }
    } else {
        int sum = 0;
        for (int step = 0; step < (right ? 3 : 1); ++step) {
            WAIT(bar(0), step & 1);
            sum += ints(0)[T]; // races
            ARRIVE(bar(2));
        }
        out[T] = sum;
    }
}

KERNEL empty_barrier_too_early(bool right, int *out, const int *in) {
    if (T == 0) {
        INIT(bar(0), 1);
        INIT(bar(2), 96);
    }
    SYNC;
    if (T < 32) {
        for (int step = 0; T == 0 && step < 3; ++step) {
            if (step > 0)
                WAIT(bar(2), (step - 1) & 1);
            EXPECT(bar(0), STAGE);
            LOAD(at(memory), in + 128 * step, STAGE, bar(0)); // races
        }
    } else {
        int sum = 0;
        for (int step = 0; step < 3; ++step) {
            WAIT(bar(0), step & 1);
            if (!right)
                ARRIVE(bar(2));
            sum += ints(0)[T]; // races
            if (right)
                ARRIVE(bar(2));
        }
        out[T] = sum;
    }
}

KERNEL empty_barrier_for_too_few(bool right, int *out, const int *in) {
    if (T == 0) {
        INIT(bar(0), 1);
        INIT(bar(2), right ? 96 : 32);
    }
    SYNC;
    if (T < 32) {
        for (int step = 0; T == 0 && step < 2; ++step) {
            if (step > 0)
                WAIT(bar(2), 0);
            EXPECT(bar(0), STAGE);
            LOAD(at(memory), in + 128 * step, STAGE, bar(0)); // races
        }
        if (T == 0)
            WAIT(bar(0), 1);
    } else {
        WAIT(bar(0), 0);
        out[T] = ints(0)[T]; // races
        ARRIVE(bar(2));
    }
}

KERNEL stage_refilled_while_multiplied(bool right, float *out, const int *in) {
    float d[4] = {0, 0, 0, 0};
    begin(1, 1);
    fill();
    MMA_FENCE;
    MMA(d, matrix(memory, 1024), matrix(memory + A_BYTES, 128)); // races
    MMA_COMMIT;
    if (right)
        MMA_WAIT(0);
    SYNC;
    if (T == 0) {
        EXPECT(bar(0), B_BYTES);
        LOAD(at(memory + A_BYTES), in, B_BYTES, bar(0)); // races
    }
    WAIT(bar(0), 0);
    MMA_WAIT(0);
    out[T] = d[0] + d[1] + d[2] + d[3];
}

KERNEL released_with_one_group_under_way(bool right, float *out, const int *in) {
    float d[4] = {0, 0, 0, 0};
    begin(1, 1);
    fill();
    for (int i = 0; i < 2; ++i) {
        MMA_FENCE;
        MMA(d, matrix(memory, 1024), matrix(memory + A_BYTES + 512 * i, 128)); // races
        MMA_COMMIT;
    }
    if (right)
        MMA_WAIT(0);
    else
        MMA_WAIT(1);
    SYNC;
    if (T == 0) {
        EXPECT(bar(0), B_BYTES);
        LOAD(at(memory + A_BYTES + 512), in, B_BYTES, bar(0)); // races
    }
    WAIT(bar(0), 0);
    MMA_WAIT(0);
    out[T] = d[0] + d[1] + d[2] + d[3];
}

KERNEL group_not_committed(bool right, float *out, const int *in) {
    float d[4] = {0, 0, 0, 0};
    begin(1, 1);
    fill();
    MMA_FENCE;
    MMA(d, matrix(memory, 1024), matrix(memory + A_BYTES, 128)); // races
    if (right)
        MMA_COMMIT;
    MMA_WAIT(0);
    SYNC;
    if (T == 0) {
        EXPECT(bar(0), B_BYTES);
        LOAD(at(memory + A_BYTES), in, B_BYTES, bar(0)); // races
    }
    WAIT(bar(0), 0);
    MMA_COMMIT;
    MMA_WAIT(0);
    out[T] = d[0] + d[1] + d[2] + d[3];
}

KERNEL written_while_multiplied(bool right, float *out) {
    float d[4] = {0, 0, 0, 0};
    fill();
    MMA_FENCE;
    MMA(d, matrix(memory, 1024), matrix(memory + A_BYTES, 128)); // races
    MMA_COMMIT;
    if (right)
        MMA_WAIT(0);
    SYNC;
    if (T < 64)
        ints(A_BYTES)[T] = 0; // races
    MMA_WAIT(0);
    out[T] = d[0] + d[1] + d[2] + d[3];
}

KERNEL shared_union_of_epilogue(bool right, float *out) {
    float d[4] = {0, 0, 0, 0};
    const int group = T / 128;
    fill();
    MMA_FENCE;
    MMA(d, matrix(memory, 1024), matrix(memory + A_BYTES, 128)); // races
    MMA_COMMIT;
    MMA_WAIT(0);
    if (right)
        SYNC;
    if (group == 0)                  /* the other one still multiplies */
        ((float *)memory)[T] = d[0]; // races
    SYNC;
    out[T] = d[1] + ((float *)memory)[T % 128];
}

/* ---- registers of products ---- */

KERNEL sum_read_too_early(bool right, float *out) {
    float d[4] = {0, 0, 0, 0};
    fill();
    MMA_FENCE;
    MMA(d, matrix(memory, 1024), matrix(memory + A_BYTES, 128));
    MMA_COMMIT;
    if (right)
        MMA_WAIT(0);
    out[T] = d[0] * 2;
    MMA_WAIT(0);
}

KERNEL sum_of_the_last_group(bool right, float *out) {
    float d[4] = {0, 0, 0, 0}, e[4] = {0, 0, 0, 0};
    fill();
    MMA_FENCE;
    MMA(d, matrix(memory, 1024), matrix(memory + A_BYTES, 128));
    MMA_COMMIT;
    MMA(e, matrix(memory, 1024), matrix(memory + A_BYTES, 128));
    MMA_COMMIT;
    MMA_WAIT(1);
    out[T] = right ? d[0] * 2 : e[0] * 2;
    MMA_WAIT(0);
    out[T] += e[1];
}

KERNEL sum_scaled_without_fence(bool right, float *out) {
    float d[4] = {0, 0, 0, 0};
    fill();
    MMA_FENCE;
    MMA(d, matrix(memory, 1024), matrix(memory + A_BYTES, 128));
    MMA_COMMIT;
    MMA_WAIT(0);
    for (int i = 0; i < 4; ++i) {
        d[i] *= out[512];
        OPAQUE(d[i]);
    }
    if (right)
        MMA_FENCE;
    MMA(d, matrix(memory, 1024), matrix(memory + A_BYTES, 128));
    MMA_COMMIT;
    MMA_WAIT(0);
    out[T] = d[0] + d[1] + d[2] + d[3];
}

KERNEL no_fence_at_all(bool right, float *out) {
    float d[4] = {0, 0, 0, 0};
    fill();
    if (right)
        MMA_FENCE;
    MMA(d, matrix(memory, 1024), matrix(memory + A_BYTES, 128));
    MMA_COMMIT;
    MMA_WAIT(0);
    out[T] = d[0] + d[1] + d[2] + d[3];
}

KERNEL factors_without_fence(bool right, float *out) {
    float d[4] = {0, 0, 0, 0};
    uint32_t a[4];
    fill();
    MMA_FENCE;
    for (int i = 0; i < 4; ++i)
        asm volatile("ld.shared.b32 %0, [%1];" : "=r"(a[i]) : "r"(at(memory + 16 * T + 4 * i)));
    if (right)
        MMA_FENCE;
    MMA_REGISTERS(d, a, matrix(memory + A_BYTES, 128));
    MMA_COMMIT;
    MMA_WAIT(0);
    out[T] = d[0] + d[1] + d[2] + d[3];
}

/* ---- mbarriers ---- */

KERNEL too_many_bytes_expected(bool right, int *out, const int *in) {
    begin(1, 1);
    if (T == 0) {
        EXPECT(bar(0), right ? STAGE : 2 * STAGE);
        LOAD(at(memory), in, STAGE, bar(0));
    }
    WAIT(bar(0), 0);
    out[T] = ints(0)[T];
}

KERNEL too_few_bytes_expected(bool right, int *out, const int *in) {
    begin(1, 1);
    if (T == 0) {
        EXPECT(bar(0), right ? 2 * STAGE : STAGE);
        LOAD(at(memory), in, STAGE, bar(0));
        LOAD(at(memory + STAGE), in + 128, STAGE, bar(0)); // races
    }
    WAIT(bar(0), 0);
    out[T] = ints(STAGE)[T]; // races
}

KERNEL no_bytes_expected(bool right, int *out, const int *in) {
    begin(1, 1);
    if (T == 0) {
        if (right)
            EXPECT(bar(0), STAGE);
        LOAD(at(memory), in, STAGE, bar(0)); // races
        if (!right)
            ARRIVE(bar(0));
    }
    WAIT(bar(0), 0);
    out[T] = ints(0)[T]; // races
}

KERNEL all_lanes_arrive(bool right, int *out, const int *in) {
    begin(1, 1);
    if (T == 0 || !right) {
        EXPECT(bar(0), right ? STAGE : STAGE / 128);
    }
    if (T == 0)
        LOAD(at(memory), in, STAGE, bar(0));
    WAIT(bar(0), 0);
    out[T] = ints(0)[T];
}

KERNEL arrival_missing(bool right, int *out, const int *in) {
    begin(1, 2);
    if (T == 0) {
        EXPECT(bar(0), STAGE);
        LOAD(at(memory), in, STAGE, bar(0));
        if (right)
            ARRIVE(bar(0));
    }
    WAIT(bar(0), 0);
    out[T] = ints(0)[T];
}

KERNEL barrier_not_initialised(bool right, int *out, const int *in) {
    if (right)
        begin(1, 1);
    if (T == 0) {
        EXPECT(bar(0), STAGE);
        LOAD(at(memory), in, STAGE, bar(0));
    }
    SYNC;
    WAIT(bar(0), 0);
    out[T] = ints(0)[T];
}

KERNEL barrier_used_before_sync(bool right, int *out, const int *in) {
    if (T == 64)
        INIT(bar(0), 1); // races
    if (right)
        SYNC;
    else
        for (int i = 0; i < 3; ++i)
            __nanosleep(10);
    if (T == 0) {
        EXPECT(bar(0), STAGE);               // races
        LOAD(at(memory), in, STAGE, bar(0)); // races
    }
    SYNC;
    WAIT(bar(0), 0); // races
    out[T] = ints(0)[T];
}

KERNEL barrier_initialised_in_use(bool right, int *out, const int *in) {
    begin(1, 1);
    if (T == 0) {
        EXPECT(bar(0), STAGE);
        if (!right)
            INIT(bar(0), 1);
        LOAD(at(memory), in, STAGE, bar(0));
    }
    WAIT(bar(0), 0);
    out[T] = ints(0)[T];
}

KERNEL barrier_overwritten(bool right, int *out, const int *in) {
    begin(1, 1);
    if (T == 0)
        ((volatile int *)bars)[right ? 4 : 0] = 7;
    SYNC;
    if (T == 0) {
        EXPECT(bar(0), STAGE);
        LOAD(at(memory), in, STAGE, bar(0));
    }
    WAIT(bar(0), 0);
    out[T] = ints(0)[T];
}

KERNEL barrier_repurposed(bool right, int *out, const int *in) {
    begin(1, 1);
    if (T == 0) {
        EXPECT(bar(0), STAGE);
        LOAD(at(memory), in, STAGE, bar(0));
    }
    WAIT(bar(0), 0);
    out[T] = ints(0)[T];
    SYNC;
    if (T == 0 && right) {
        INVAL(bar(0));
        INIT(bar(0), 1);
    }
    if (T == 0 && !right)
        bars[0] = 0;
    SYNC;
    if (T == 0) {
        EXPECT(bar(0), STAGE);
        LOAD(at(memory + STAGE), in, STAGE, bar(0));
    }
    WAIT(bar(0), 0);
    out[T] += ints(STAGE)[T];
}

/* ---- waits that miss their phase ---- */

/* Three warps of which one hands stages back for all, and which look at no more of them. */
KERNEL warp_goes_ahead(bool right, int *out, const int *in) {
    (void)out;
    begin(4, 1);
    if (T < 32) {
        for (int step = 0; T == 0 && step < 12; ++step) {
            const int stage = step % 2, round = step / 2 & 1;
            WAIT(bar(2 + stage), round ^ 1);
            EXPECT(bar(stage), STAGE);
            LOAD(at(memory + STAGE * stage), in, STAGE, bar(stage)); // races
        }
    } else {
        for (int step = 0; step < 12; ++step) {
            const int stage = step % 2, round = step / 2 & 1;
            WAIT(bar(stage), round); // races
            if (right)
                GROUP_SYNC(96);
            if (T == 32)
                ARRIVE(bar(2 + stage));
        }
    }
}

/* The same of a warp's lanes, which a shuffle keeps together as well as __syncwarp() does. */
KERNEL lane_goes_ahead(bool right, int *out, const int *in) {
    int sum = 0;
    begin(3, 1);
    if (T == 32) {
        for (int step = 0; step < 4; ++step) {
            WAIT(bar(2), (step & 1) ^ 1);
            EXPECT(bar(0), STAGE);
            LOAD(at(memory), in, STAGE, bar(0)); // races
        }
    } else if (T < 32) {
        for (int step = 0; step < 4; ++step) {
            WAIT(bar(0), step & 1); // races
            if (right)
                sum += __shfl_xor_sync(0xffffffff, step, 1);
            if (T == 0)
                ARRIVE(bar(2));
        }
        out[T] = sum;
    }
}

/* Products keep the warps of a warpgroup together, where it multiplies. */
KERNEL product_of_the_first_tile(bool right, float *out, const int *in) {
    float d[4] = {0, 0, 0, 0};
    begin(3, 1);
    fill();
    if (T == 128) {
        for (int step = 0; step < 4; ++step) {
            WAIT(bar(2), (step & 1) ^ 1);
            EXPECT(bar(0), B_BYTES);
            LOAD(at(memory + A_BYTES), in, B_BYTES, bar(0)); // races
        }
    } else if (T < 128) {
        for (int step = 0; step < 4; ++step) {
            WAIT(bar(0), step & 1); // races
            if (right || step == 0) {
                MMA_FENCE;
                MMA(d, matrix(memory, 1024), matrix(memory + A_BYTES, 128));
                MMA_COMMIT;
                MMA_WAIT(0);
            }
            if (T == 0)
                ARRIVE(bar(2));
        }
        out[T] = d[0] + d[1] + d[2] + d[3];
    }
}

/* Two threads load a stage. The bytes of both are expected by the first, which so learns nothing of
 * the second, but each copy comes behind its thread's wait. */
KERNEL waits_and_loads_nothing(bool right, int *out, const int *in) {
    (void)out;
    begin(3, 1);
    if (T < 64) {
        for (int step = 0; T % 32 == 0 && step < 4; ++step) {
            WAIT(bar(2), (step & 1) ^ 1); // races
            if (T == 0)
                EXPECT(bar(0), STAGE);
            if (T == 0)
                LOAD(at(memory), in, STAGE / 2, bar(0));
            if (T == (right ? 32 : 0))
                LOAD(at(memory + STAGE / 2), in, STAGE / 2, bar(0));
        }
    } else if (T == 64) {
        for (int step = 0; step < 4; ++step) {
            WAIT(bar(0), step & 1);
            ARRIVE(bar(2)); // races
        }
    }
}

/* Who knows of all arrivals need not have waited for them. */
KERNEL phase_not_known(bool right, int *out) {
    (void)out;
    begin(1, 128);
    ARRIVE(bar(0)); // races
    if (right)
        SYNC;
    ARRIVE(bar(0));  // races
    WAIT(bar(0), 1); // races
}

/* ---- a block that ends ---- */

KERNEL ends_before_its_store(bool right, int *out) {
    ints(0)[T] = T;
    PROXY_FENCE;
    SYNC;
    if (T == 0) {
        STORE(out, at(memory), STAGE);
        COMMIT;
        if (right)
            STORED_READ(0);
    }
}

KERNEL ends_before_its_load(bool right, int *out, const int *in) {
    begin(1, 1);
    if (T == 0) {
        EXPECT(bar(0), STAGE);
        LOAD(at(memory), in, STAGE, bar(0));
        if (right)
            WAIT(bar(0), 0);
    }
    out[T] = T;
}

KERNEL store_not_committed(bool right, int *out) {
    ints(0)[T] = T;
    PROXY_FENCE;
    SYNC;
    if (T == 0) {
        STORE(out, at(memory), STAGE);
        if (right)
            COMMIT;
        STORED_READ(0);
    }
}

/* ---- what instructions ask for ---- */

KERNEL misaligned_load(bool right, int *out, const int *in) {
    begin(1, 1);
    if (T == 0) {
        EXPECT(bar(0), STAGE);
        LOAD(at(memory), in + (right ? 0 : 1), STAGE, bar(0));
    }
    WAIT(bar(0), 0);
    out[T] = ints(0)[T];
}

KERNEL odd_number_of_bytes(bool right, int *out, const int *in) {
    begin(1, 1);
    if (T == 0) {
        EXPECT(bar(0), right ? STAGE : STAGE - 4);
        LOAD(at(memory), in, right ? STAGE : STAGE - 4, bar(0));
    }
    WAIT(bar(0), 0);
    out[T] = ints(0)[T];
}

KERNEL matrix_out_of_range(bool right, float *out) {
    float d[4] = {0, 0, 0, 0};
    fill();
    MMA_FENCE;
    MMA(d, matrix(memory, 1024), matrix(memory + A_BYTES, right ? 128 : 16384));
    MMA_COMMIT;
    MMA_WAIT(0);
    out[T] = d[0] + d[1] + d[2] + d[3];
}

KERNEL half_a_warp_multiplies(bool right, float *out) {
    float d[4] = {0, 0, 0, 0};
    fill();
    MMA_FENCE;
    if (right || T % 32 < 16) {
        MMA(d, matrix(memory, 1024), matrix(memory + A_BYTES, 128));
        MMA_COMMIT;
        MMA_WAIT(0);
    }
    out[T] = d[0] + d[1] + d[2] + d[3];
}

KERNEL three_warps_multiply(bool right, float *out) {
    float d[4] = {0, 0, 0, 0};
    fill();
    if (right || T / 32 != 3) {
        MMA_FENCE;
        MMA(d, matrix(memory, 1024), matrix(memory + A_BYTES, 128));
        MMA_COMMIT;
        MMA_WAIT(0);
    }
    out[T] = d[0] + d[1] + d[2] + d[3];
}

KERNEL descriptors_of_two_warps(bool right, float *out) {
    float d[4] = {0, 0, 0, 0};
    fill();
    MMA_FENCE;
    MMA(d, matrix(memory + (right ? 0 : 256 * (T / 32)), 1024), matrix(memory + A_BYTES, 128));
    MMA_COMMIT;
    MMA_WAIT(0);
    out[T] = d[0] + d[1] + d[2] + d[3];
}

KERNEL named_barrier_for_too_many(bool right, int *out) {
    ints(0)[T] = T;
    if (T < 64)
        asm volatile("bar.sync 1, %0;" ::"r"(right ? 64 : 128) : "memory");
    SYNC;
    out[T] = ints(0)[T];
}

/* Of 65,536, the launch gives a block of 384 threads 168 each. */
KERNEL more_registers_than_a_block_has(bool right, int *out) {
    if (T < 256)
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    else if (right)
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    else
        asm volatile("setmaxnreg.dec.sync.aligned.u32 32;");
    if (T < 128)
        out[T] = T;
}

/* ---- clusters of two blocks ---- */

static __device__ __forceinline__ int rank() {
    int r;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return r;
}

static __device__ __forceinline__ uint32_t of_other(uint32_t address) {
    uint32_t mapped;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                 : "=r"(mapped)
                 : "r"(address), "r"(1 - rank()));
    return mapped;
}

static __device__ __forceinline__ void meet() {
    CLUSTER_ARRIVE;
    CLUSTER_WAIT;
}

KERNEL peer_read_without_barrier(bool right, int *out) {
    int value;
    meet();
    ints(0)[T] = T; // races
    if (right)
        meet();
    else
        SYNC;
    REMOTE_LOAD(value, of_other(at(memory)) + 4 * T); // races
    out[128 * rank() + T] = value;
    meet();
}

KERNEL peer_read_behind_relaxed_arrive(bool right, int *out) {
    int value;
    meet();
    ints(0)[T] = T; // races
    if (right)
        CLUSTER_ARRIVE;
    else
        CLUSTER_RELAXED;
    CLUSTER_WAIT;
    REMOTE_LOAD(value, of_other(at(memory)) + 4 * T); // races
    out[128 * rank() + T] = value;
    meet();
}

KERNEL peer_written_between_arrive_and_wait(bool right, int *out) {
    meet();
    if (right)
        REMOTE_STORE(of_other(at(memory)) + 4 * T, T);
    CLUSTER_ARRIVE;
    if (!right)
        REMOTE_STORE(of_other(at(memory)) + 4 * T, T); // races
    CLUSTER_WAIT;
    out[128 * rank() + T] = ints(0)[T]; // races
    meet();
}

KERNEL peer_store_over_initialisation(bool right, int *out) {
    ints(0)[T] = -1; // races
    if (right)
        meet();
    REMOTE_STORE(of_other(at(memory)) + 4 * T, T); // races
    meet();
    out[128 * rank() + T] = ints(0)[T];
}

KERNEL peer_sum_not_atomic(bool right, int *out) {
    ints(0)[T] = 0;
    meet();
    if (right) {
        REMOTE_ADD(of_other(at(memory)), 1);
        asm volatile("red.shared.add.s32 [%0], 1;" ::"r"(at(memory)) : "memory");
    } else if (T == 0) {
        int sum;
        REMOTE_LOAD(sum, of_other(at(memory)));      // races
        REMOTE_STORE(of_other(at(memory)), sum + 1); // races
        ints(0)[0] += 1;                             // races
    }
    meet();
    out[128 * rank() + T] = ints(0)[0];
}

KERNEL peer_exits_too_early(bool right, int *out) {
    int value = 0;
    ints(0)[T] = T;
    meet();
    if (rank() == 0)
        REMOTE_LOAD(value, of_other(at(memory)) + 4 * T);
    if (right)
        meet();
    out[128 * rank() + T] = value;
}

KERNEL peer_barrier_lacks_an_arrival(bool right, int *out) {
    begin(1, right ? 256 : 257);
    meet();
    ARRIVE(bar(0));
    REMOTE_ARRIVE(of_other(bar(0)));
    WAIT(bar(0), 0);
    out[128 * rank() + T] = T;
    meet();
}

KERNEL peer_barrier_not_initialised_yet(bool right, int *out) {
    if (T == 0)
        INIT(bar(0), 128); // races
    if (right)
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    CLUSTER_RELAXED;
    CLUSTER_WAIT;
    REMOTE_ARRIVE(of_other(bar(0))); // races
    SYNC;
    WAIT(bar(0), 0); // races
    out[128 * rank() + T] = T;
    meet();
}

KERNEL loaded_over_what_the_peer_reads(bool right, int *out, const int *in) {
    int sum = 0;
    begin(1, 1);
    meet();
    for (int step = 0; step < 2; ++step) {
        if (T == 0)
            EXPECT(bar(0), STAGE);
        if (right || step == 0)
            meet();
        if (T == 0 && rank() == 0)
            LOAD_TO_BOTH(at(memory), in + 128 * step, STAGE, bar(0)); // races
        WAIT(bar(0), step);
        sum += ints(0)[T]; // races
        SYNC;
    }
    out[128 * rank() + T] = sum;
    meet();
}

KERNEL peer_has_no_such_rank(bool right, int *out) {
    uint32_t address;
    int value;
    ints(0)[T] = T;
    meet();
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                 : "=r"(address)
                 : "r"(at(memory)), "r"(right ? 1 : 2));
    REMOTE_LOAD(value, address);
    out[128 * rank() + T] = value;
    meet();
}

extern "C" __global__ void __cluster_dims__(2, 1, 1)
    hopper_pair(int which, bool right, int *out, const int *in) {
    enum {
#define SEEDED(name, blocks, threads, found)
#define SEEDED_IN(name, blocks, threads, found)
#define SEEDED_MMA(name, blocks, threads, found)
#define SEEDED_MMA_IN(name, blocks, threads, found)
#define SEEDED_PAIR(name, blocks, threads, found)    NUMBER_##name,
#define SEEDED_PAIR_IN(name, blocks, threads, found) NUMBER_##name,
#include "hopper.def"
    };
    switch (which) {
#define SEEDED(name, blocks, threads, found)
#define SEEDED_IN(name, blocks, threads, found)
#define SEEDED_MMA(name, blocks, threads, found)
#define SEEDED_MMA_IN(name, blocks, threads, found)
#define SEEDED_PAIR(name, blocks, threads, found)                                                  \
    case NUMBER_##name:                                                                            \
        name(right, out);                                                                          \
        break;
#define SEEDED_PAIR_IN(name, blocks, threads, found)                                               \
    case NUMBER_##name:                                                                            \
        name(right, out, in);                                                                      \
        break;
#include "hopper.def"
    }
}

extern "C" __global__ void hopper(int which, bool right, int *out, const int *in) {
    enum {
#define SEEDED(name, blocks, threads, found)        NUMBER_##name,
#define SEEDED_IN(name, blocks, threads, found)     NUMBER_##name,
#define SEEDED_MMA(name, blocks, threads, found)    NUMBER_##name,
#define SEEDED_MMA_IN(name, blocks, threads, found) NUMBER_##name,
#define SEEDED_PAIR(name, blocks, threads, found)
#define SEEDED_PAIR_IN(name, blocks, threads, found)
#include "hopper.def"
    };
    float *sums = (float *)out;
    switch (which) {
#define SEEDED(name, blocks, threads, found)                                                       \
    case NUMBER_##name:                                                                            \
        name(right, out);                                                                          \
        break;
#define SEEDED_IN(name, blocks, threads, found)                                                    \
    case NUMBER_##name:                                                                            \
        name(right, out, in);                                                                      \
        break;
#define SEEDED_MMA(name, blocks, threads, found)                                                   \
    case NUMBER_##name:                                                                            \
        name(right, sums);                                                                         \
        break;
#define SEEDED_MMA_IN(name, blocks, threads, found)                                                \
    case NUMBER_##name:                                                                            \
        name(right, sums, in);                                                                     \
        break;
#define SEEDED_PAIR(name, blocks, threads, found)
#define SEEDED_PAIR_IN(name, blocks, threads, found)
#include "hopper.def"
    }
}
