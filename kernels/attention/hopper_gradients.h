/* The kernel of attention v3_hopper's backward where d is at most 128. */
#ifndef ASSAY_ATTENTION_HOPPER_GRADIENTS_H
#define ASSAY_ATTENTION_HOPPER_GRADIENTS_H

#include "kernels/attention/hopper_rounding.h"

template <typename Plan, typename T>
static __global__ void __launch_bounds__(Plan::THREADS, 1)
    gradients_on_hopper(const backward_on_hopper<T> p, const __grid_constant__ backward_maps maps) {
    ASSAY_DYNAMIC_SHARED(unsigned char, shared);
    const typename Plan::memory memory = backward_memory_in<Plan>(shared);
    if (threadIdx.x == 0) {
        tensor_map_prefetch(&maps.k);
        tensor_map_prefetch(&maps.v);
        tensor_map_prefetch(&maps.q);
        tensor_map_prefetch(&maps.dout);
        tensor_map_prefetch(&maps.terms);
        make_barriers(memory);
        *memory.walk() = walk_of<Plan>(p.n, p.groups, atomicAdd(p.draw, 1u));
    }
    __syncthreads();
    const backward_walk walk = *memory.walk();
    if (walk.steps == ROUNDS) {
        round_tiles<Plan>(p, memory);
        return;
    }
    if (threadIdx.x < GROUP) {
        registers_lower<Plan::FEW_REGISTERS>();
        if (threadIdx.x == 0)
            load_walk(maps, memory, walk);
        else if (threadIdx.x == WARP || threadIdx.x == 2 * WARP)
            pass_links(p, memory, walk, (int)threadIdx.x / WARP - 1);
    } else {
        registers_raise<Plan::MANY_REGISTERS>();
        clear_unseeing<Plan>(p, walk);
        add_gradients(p, memory, walk, uniform_warp() - GROUP_WARPS);
    }
}

#endif
