/*
 * Small kernels with one defect each, and the same without it: seeded.def lists them. All are one
 * kernel, so that one compilation serves. A line whose access races ends in "races".
 *
 * seeded.ptx is what nvcc makes of it with -O3 -arch=compute_80 -lineinfo -ptx, without the folders
 * in the names of files but include/crt.
 */
#include <mma.h>
#include <stdint.h>

#define KERNEL      static __device__ __noinline__ void
#define T           ((int)threadIdx.x)
#define B           ((int)blockIdx.x)
#define FULL        0xffffffffu
#define AGAIN(i, n) for (int i = 0; i < (n); ++i)

enum { SHARED = 128 };

/* Volatile would be strong: a compiler barrier keeps plain accesses where they stand. */
static __device__ __forceinline__ void here() {
    asm volatile("" ::: "memory");
}

static __device__ __forceinline__ void bar(int id, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

static __device__ __forceinline__ uint32_t shared_address(const void *p) {
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* ---- shared memory ---- */

KERNEL read_after_write(bool right, int *out) {
    __shared__ int tile[SHARED];
    tile[T] = T; // races
    if (right)
        __syncthreads();
    here();
    out[T] = tile[63 - T]; // races
}

KERNEL write_after_read(bool right, int *out) {
    __shared__ int tile[SHARED];
    int sum = 0;
    AGAIN(step, 3) {
        tile[T] = step + T; // races
        __syncthreads();
        sum += tile[63 - T]; // races
        if (right)
            __syncthreads();
    }
    out[T] = sum;
}

KERNEL write_after_write(bool right, int *out) {
    __shared__ int tile[SHARED];
    tile[right ? T : T / 2] = T; // races
    __syncthreads();
    out[T] = tile[right ? T : T / 2];
}

KERNEL barrier_too_early(bool right, int *out) {
    __shared__ int tile[SHARED];
    if (!right)
        __syncthreads();
    tile[T] = T; // races
    if (right)
        __syncthreads();
    here();
    out[T] = tile[63 - T]; // races
}

KERNEL barrier_in_one_branch(bool right, int *out) {
    __shared__ int tile[SHARED];
    tile[T] = T; // races
    if (right)
        __syncthreads();
    else if (T < 32)
        bar(1, 32);
    else
        bar(2, 32);
    out[T] = tile[63 - T]; // races
}

KERNEL other_barrier(bool right, int *out) {
    __shared__ int tile[SHARED];
    tile[T] = T; // races
    bar(right || T < 64 ? 1 : 2, right ? 128 : 64);
    out[T] = tile[(T + 64) % 128]; // races
}

KERNEL barrier_for_too_few(bool right, int *out) {
    __shared__ int tile[SHARED];
    tile[T] = T; // races
    bar(1, right ? 128 : 64);
    out[T] = tile[127 - T]; // races
}

/* The first warp fills, and need not wait; the second one waits. */
KERNEL arrive_too_early(bool right, int *out) {
    __shared__ int tile[SHARED];
    if (T < 32) {
        if (right)
            tile[T] = T;
        asm volatile("bar.arrive 1, 64;" ::: "memory");
        if (!right)
            tile[T] = T; // races
    } else {
        bar(1, 64);
        out[T] = tile[T - 32]; // races
    }
}

KERNEL warp_synchronous(bool right, int *out) {
    __shared__ int sums[SHARED];
    sums[T] = T; // races
    __syncwarp();
    for (int step = 16; step > 0; step /= 2) {
        int other = sums[(T + step) % 32]; // races
        if (right)
            __syncwarp();
        here();
        sums[T] += other; // races
        if (right)
            __syncwarp();
        here();
    }
    out[T] = sums[T];
}

KERNEL no_syncwarp(bool right, int *out) {
    __shared__ int tile[SHARED];
    tile[T] = T; // races
    if (right)
        __syncwarp();
    here();
    out[T] = tile[T ^ 1]; // races
}

KERNEL shuffle_for_syncwarp(bool right, int *out) {
    __shared__ int tile[SHARED];
    int value = T;
    tile[T] = T; // races
    if (right)
        __syncwarp();
    value = __shfl_xor_sync(FULL, value, 1);
    here();
    out[T] = tile[T ^ 1] + value; // races
}

/* Lanes 0 and 1 read, and so does lane 2, which the mask names only where it is right. */
KERNEL third_lane(bool right, int *out) {
    __shared__ int value;
    if (T == 0)
        value = 1;
    __syncwarp();
    if (T < 4)
        out[T] = value; // races
    if (T < 4 && T != 2)
        __syncwarp(right ? 0xf : 0xb);
    else if (T == 2 && right)
        __syncwarp(0xf);
    here();
    if (T == 3)
        value = 2; // races
}

KERNEL double_buffer(bool right, int *out) {
    __shared__ int tile[2][64];
    int sum = 0;
    tile[0][T] = T; // races
    __syncthreads();
    AGAIN(step, 4) {
        const int to = right ? (step + 1) % 2 : 0;
        if (step < 3)
            tile[to][T] = step + T;                // races
        sum += tile[right ? step % 2 : 0][63 - T]; // races
        __syncthreads();
    }
    out[T] = sum;
}

KERNEL halo(bool right, int *out) {
    __shared__ int cells[SHARED];
    cells[T] = T; // races
    if (T == 0)
        cells[64] = 7; // races
    if (right)
        __syncthreads();
    here();
    out[T] = cells[T] + cells[T + 1]; // races
}

KERNEL shared_histogram(bool right, int *out) {
    __shared__ int bins[8];
    if (T < 8)
        bins[T] = 0;
    __syncthreads();
    if (right)
        atomicAdd(&bins[T % 8], 1);
    else
        bins[T % 8] += 1; // races
    __syncthreads();
    if (T < 8)
        out[T] = bins[T];
}

KERNEL read_beside_atomics(bool right, int *out) {
    __shared__ int count;
    if (T == 0)
        count = 0;
    __syncthreads();
    atomicAdd(&count, 1); // races
    if (right)
        __syncthreads();
    out[T] = count; // races
}

KERNEL clear_beside_atomics(bool right, int *out) {
    __shared__ int count;
    if (T == 0)
        count = 0; // races
    if (right)
        __syncthreads();
    atomicAdd(&count, T); // races
    __syncthreads();
    out[T] = count;
}

static __device__ __forceinline__ int sum_of(int value, int *sums, bool right) {
    sums[T] = value; // races
    __syncthreads();
    for (int step = 32; step > 0; step /= 2) {
        if (T < step)
            sums[T] += sums[T + step];
        __syncthreads();
    }
    const int sum = sums[0]; // races
    if (right)
        __syncthreads();
    return sum;
}

KERNEL maximum_by_compare_and_swap(bool right, int *out) {
    __shared__ int most;
    if (T == 0)
        most = 0;
    __syncthreads();
    int old, assumed;
    if (right)
        old = *(volatile int *)&most;
    else
        old = most; // races
    do {
        assumed = old;
        old = atomicCAS(&most, assumed, // races
                        __float_as_int(fmaxf((float)T, __int_as_float(assumed))));
    } while (assumed != old);
    __syncthreads();
    out[T] = most;
}

KERNEL reused_sum(bool right, int *out) {
    __shared__ int sums[SHARED];
    const int first = sum_of(T, sums, right);
    out[T] = first + sum_of(first + T, sums, right);
}

KERNEL transpose(bool right, int *out) {
    __shared__ int tile[8][9];
    AGAIN(step, 2) {
        tile[T / 8][T % 8] = step + T; // races
        __syncthreads();
        out[64 * step + T] = tile[T % 8][T / 8]; // races
        if (right)
            __syncthreads();
    }
}

static __device__ __forceinline__ void copy4(int *to, const int *from) {
    const uint32_t at = shared_address(to);
    here();
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(from)); // races
    here();
}

static __device__ __forceinline__ void wait_for_copies() {
    asm volatile("cp.async.wait_all;" ::: "memory");
}

KERNEL copy_without_wait(bool right, int *out) {
    __shared__ int tile[SHARED];
    copy4(&tile[T], out + 1024 + T); // races
    if (right)
        wait_for_copies();
    __syncthreads();
    out[T] = tile[63 - T]; // races
}

KERNEL copy_without_barrier(bool right, int *out) {
    __shared__ int tile[SHARED];
    copy4(&tile[T], out + 1024 + T); // races
    wait_for_copies();
    if (right)
        __syncthreads();
    here();
    out[T] = tile[63 - T]; // races
}

KERNEL own_copy_without_wait(bool right, int *out) {
    __shared__ int tile[SHARED];
    copy4(&tile[T], out + 1024 + T);
    if (right)
        wait_for_copies();
    here();
    out[T] = tile[T]; // races
}

static __device__ __forceinline__ void mbarrier_init(uint64_t *b, int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(b)), "r"(count)
                 : "memory");
}
static __device__ __forceinline__ void mbarrier_arrive(uint64_t *b) {
    asm volatile("{.reg .b64 s; mbarrier.arrive.shared.b64 s, [%0];}" ::"r"(shared_address(b))
                 : "memory");
}
static __device__ __forceinline__ void mbarrier_wait(uint64_t *b, int parity) {
    asm volatile("{.reg .pred p;\n"
                 "again: mbarrier.test_wait.parity.shared.b64 p, [%0], %1;\n"
                 "@!p bra again;}" ::"r"(shared_address(b)),
                 "r"(parity)
                 : "memory");
}

/* The first warp fills a tile, the second one reads it. */
static __device__ __forceinline__ void hand_over(int count, bool early, bool waits, int *out) {
    __shared__ int tile[SHARED];
    __shared__ uint64_t full;
    if (T == 0)
        mbarrier_init(&full, count);
    __syncthreads();
    if (T < 32) {
        if (early)
            mbarrier_arrive(&full);
        tile[T] = T; // races
        if (!early && (count == 32 || T < count))
            mbarrier_arrive(&full);
    } else {
        if (waits)
            mbarrier_wait(&full, 0);
        here();
        out[T] = tile[T - 32]; // races
    }
}

KERNEL mbarrier_for_too_few(bool right, int *out) {
    hand_over(right ? 32 : 8, false, true, out);
}
KERNEL mbarrier_too_early(bool right, int *out) {
    hand_over(32, !right, true, out);
}
KERNEL mbarrier_not_awaited(bool right, int *out) {
    hand_over(32, false, right, out);
}

KERNEL bytes_of_a_word(bool right, int *out) {
    __shared__ uint32_t words[16];
    if (T < 16)
        words[T] = 0;
    __syncthreads();
    if (right)
        reinterpret_cast<uint8_t *>(words)[T] = (uint8_t)T;
    else
        words[T / 4] |= (uint32_t)(T + 1) << 8 * (T % 4); // races
    __syncthreads();
    out[T] = (int)words[T / 4];
}

KERNEL part_of_a_vector(bool right, int *out) {
    __shared__ int4 tile[16];
    if (T < 16)
        tile[T] = make_int4(T, T, T, T); // races
    if (right)
        __syncthreads();
    here();
    out[T] = reinterpret_cast<const int *>(tile)[63 - T]; // races
}

KERNEL never_written(bool right, int *out) {
    __shared__ int tile[SHARED];
    if (right || T != 5)
        tile[T] = T;
    __syncthreads();
    out[T] = tile[63 - T]; // races
}

extern __shared__ int asked_for[]; // no bytes

KERNEL exceeded(bool right, int *out) {
    __shared__ int tile[SHARED];
    int *to = right ? tile : asked_for;
    to[T] = T; // races
    __syncwarp();
    out[T] = T;
    asm volatile("" ::"l"(to) : "memory");
}

KERNEL same_value(bool right, int *out) {
    __shared__ int any;
    if (!right || T == 0)
        any = 1; // races
    __syncthreads();
    asm volatile("" ::"l"(&any) : "memory"); // which may have changed it
    out[T] = any;
}

KERNEL divergent_barrier(bool right, int *out) {
    __shared__ int tile[SHARED];
    tile[T] = T;
    if (right) {
        __syncthreads();
    } else if (T % 2 == 0) {
        asm volatile("bar.sync 0;" ::: "memory");
    } else {
        tile[T] += 1;
        asm volatile("bar.sync 0;" ::: "memory");
    }
    out[T] = tile[63 - T];
}

/* A tensor core's load of what another warp wrote. */
KERNEL wmma_without_barrier(bool right, int *out) {
    using namespace nvcuda::wmma;
    __shared__ __align__(32) __half tile[16 * 16];
    fragment<matrix_a, 16, 16, 16, __half, row_major> a;
    fragment<matrix_b, 16, 16, 16, __half, row_major> b;
    fragment<accumulator, 16, 16, 16, float> c;
    AGAIN(i, 4)
    tile[64 * i + T] = __int2half_rn(T); // races
    if (right)
        __syncthreads();
    here();
    load_matrix_sync(a, tile, 16); // races
    fill_fragment(b, __int2half_rn(1));
    fill_fragment(c, 0.0f);
    mma_sync(c, a, b, c);
    out[T] = (int)c.x[0];
}

/* ---- between blocks ---- */

__device__ int winner, ready[8], count, total, arrived, mutex;
__device__ int parts[8 * 64];

KERNEL neighbour_tile(bool right, int *out) {
    out[32 * B + T] = T; // races
    __syncthreads();
    out[1024 + 32 * B + T] = out[32 * (right ? B : (B + 1) % 4) + 31 - T]; // races
}

KERNEL in_place(bool right, int *out) {
    const int i = 32 * B + T, sum = out[i] + out[i + 1]; // races
    __syncthreads();
    out[right ? 1024 + i : i] = sum; // races
}

KERNEL global_histogram(bool right, int *out) {
    if (right)
        atomicAdd(&out[T % 8], 1);
    else
        out[T % 8] += 1; // races
}

KERNEL device_variable(bool right, int *out) {
    if (T == 0 && (!right || B == 0))
        winner = B; // races
    out[32 * B + T] = T;
}

KERNEL counter_reset(bool right, int *out) {
    if (B == 0 && T == 0 && !right)
        count = 0;                      // races
    const int n = atomicAdd(&count, 1); // races
    out[32 * B + T] = n;
}

KERNEL counter_read(bool right, int *out) {
    atomicAdd(&count, 1);                                   // races
    out[32 * B + T] = right ? atomicAdd(&count, 0) : count; // races
}

/* The two halves of a sum: a loop of compare-and-swaps from a first guess on. */
typedef unsigned long long u64;

static __device__ __forceinline__ void add(u64 *sum, u64 old, double value) {
    u64 assumed;
    do {
        assumed = old;
        old =
            atomicCAS(sum, assumed, // races
                      (u64)__double_as_longlong(value + __longlong_as_double((long long)assumed)));
    } while (assumed != old);
}

KERNEL sum_by_compare_and_swap(bool right, int *out) {
    u64 *sum = (u64 *)out, old;
    if (right)
        old = *(volatile u64 *)sum;
    else
        old = *sum; // races
    add(sum, old, T);
}

KERNEL read_decides(bool right, int *out) {
    u64 *sum = (u64 *)out, old;
    if (right)
        old = *(volatile u64 *)sum;
    else
        old = *sum; // races
    if (__longlong_as_double((long long)old) < 100)
        add(sum, old, T);
}

KERNEL read_before_another(bool right, int *out) {
    u64 *sum = (u64 *)out, old;
    atomicAdd(&sum[2], 1); // races
    if (right)
        old = *(volatile u64 *)&sum[2];
    else
        old = sum[2]; // races
    atomicCAS(sum, old, old + 1);
}

KERNEL atomic_of_block_scope(bool right, int *out) {
    if (right)
        atomicAdd(&out[T], 1);
    else
        atomicAdd_block(&out[T], 1); // races
}

enum fences { NONE, BLOCK, GPU };

static __device__ __forceinline__ void fence(fences kind) {
    if (kind == GPU)
        __threadfence();
    else if (kind == BLOCK)
        __threadfence_block();
}

/* The second block waits for the data of the first. */
static __device__ __forceinline__ void tell(fences releases, fences acquires, int *out) {
    volatile int *flag = &ready[0];
    if (B == 0) {
        parts[T] = T; // races
        __syncwarp();
        fence(releases);
        if (T == 0)
            *flag = 1;
    } else {
        while (*flag == 0)
            ;
        fence(acquires);
        out[T] = parts[31 - T]; // races
    }
}

KERNEL flag_without_fence(bool right, int *out) {
    tell(right ? GPU : NONE, GPU, out);
}
KERNEL flag_without_acquire(bool right, int *out) {
    tell(GPU, right ? GPU : NONE, out);
}
KERNEL flag_fence_of_block_scope(bool right, int *out) {
    tell(right ? GPU : BLOCK, GPU, out);
}

KERNEL flag_relaxed(bool right, int *out) {
    if (B == 0) {
        parts[T] = T; // races
        __syncthreads();
        if (T == 0 && right)
            asm volatile("st.release.gpu.s32 [%0], 1;" ::"l"(&ready[0]) : "memory");
        else if (T == 0)
            asm volatile("st.relaxed.gpu.s32 [%0], 1;" ::"l"(&ready[0]) : "memory");
    } else {
        int there = 0;
        while (there == 0)
            asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(there) : "l"(&ready[0]) : "memory");
        out[T] = parts[31 - T]; // races
    }
}

KERNEL flag_backwards(bool right, int *out) {
    if (B == 0) {
        if (right)
            parts[T] = T;
        __threadfence();
        __syncthreads();
        if (T == 0)
            atomicExch(&ready[0], 1);
        here();
        if (!right)
            parts[T] = T; // races
    } else {
        while (atomicAdd(&ready[0], 0) == 0)
            ;
        __threadfence();
        out[T] = parts[31 - T]; // races
    }
}

/* The block that is last adds what all have left. */
static __device__ __forceinline__ void last_block(bool fenced, bool met, int *out) {
    __shared__ int ticket;
    parts[64 * B + T] = T; // races
    if (fenced)
        __threadfence();
    if (met)
        __syncthreads();
    if (T == 0)
        ticket = atomicAdd(&count, 1);
    __syncthreads();
    if (ticket != 3)
        return;
    __threadfence();
    int sum = 0;
    AGAIN(b, 4)
    sum += parts[64 * b + 63 - T]; // races
    out[T] = sum;
}

KERNEL last_block_done(bool right, int *out) {
    last_block(right, true, out);
}
KERNEL last_block_barrier(bool right, int *out) {
    last_block(true, right, out);
}

/* A block adds the sums of all before it, which each of them tells when it has one. */
KERNEL look_back(bool right, int *out) {
    __shared__ int before;
    if (T == 0) {
        int sum = 0;
        if (B > 0) {
            while (*(volatile int *)&ready[B - 1] == 0)
                ;
            __threadfence();
            sum = parts[64 * (B - 1)]; // races
        }
        before = sum;
        parts[64 * B] = sum + 32; // races
        if (right)
            __threadfence();
        here();
        *(volatile int *)&ready[B] = 1;
    }
    __syncthreads();
    out[32 * B + T] = before + T;
}

KERNEL grid_barrier(bool right, int *out) {
    parts[64 * B + T] = T; // races
    __syncthreads();
    if (T == 0) {
        if (right)
            __threadfence();
        atomicAdd(&arrived, 1);
        while (*(volatile int *)&arrived < 4)
            ;
        if (right)
            __threadfence();
    }
    __syncthreads();
    out[64 * B + T] = parts[64 * ((B + 1) % 4) + T]; // races
}

KERNEL lock(bool right, int *out) {
    if (T == 0) {
        while (atomicCAS(&mutex, 0, 1) != 0)
            ;
        if (right)
            __threadfence();
        here();
        total += B + 1; // races
        if (right)
            __threadfence();
        here();
        atomicExch(&mutex, 0);
    }
    out[32 * B + T] = T;
}

/* The third word keeps the compiler from reading the flag but once. */
KERNEL plain_spin(bool right, int *out) {
    int there = 0;
    if (B == 1) {
        while (there == 0) {
            if (right)
                asm volatile("ld.relaxed.gpu.s32 %0, [%1];"
                             : "=r"(there)
                             : "l"(&ready[0])
                             : "memory");
            else
                asm volatile("ld.global.s32 %0, [%1];" : "=r"(there) : "l"(&ready[1]) : "memory");
        }
    } else if (T == 0) {
        asm volatile("st.relaxed.gpu.s32 [%0], 1;" ::"l"(&ready[0]) : "memory");
    }
    out[32 * B + T] = there;
}

#define SEEDED(name, blocks, threads, found) KERNEL_##name,
enum {
#include "seeded.def"
};
#undef SEEDED

extern "C" __global__ void seeded(int which, bool right, int *out) {
    switch (which) {
#define SEEDED(name, blocks, threads, found)                                                       \
    case KERNEL_##name:                                                                            \
        name(right, out);                                                                          \
        break;
#include "seeded.def"
    }
}
