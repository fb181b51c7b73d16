/* ASSAY_LAUNCH and dynamic shared memory, as device/kernel.h documents them. */
#ifndef ASSAY_SIM_LAUNCH_H
#define ASSAY_SIM_LAUNCH_H

#include "sim/vector.h"

static sim_section sim_file_section
    __attribute__((unused)) = {ASSAY_SHARED_SECTION, nullptr, nullptr, false};

/* An argument converts to its parameter's type as in a call, and each thread gets a copy. */
template <class T> static inline T sim_converted(std::type_identity_t<T> argument) {
    return argument;
}

/* Arguments as CUDA lays them out for a kernel: each at the next multiple of its alignment. Of this
 * file alone: other kernel files have other types of the same names. */
namespace {
template <class... P> struct sim_parameters {
    static constexpr size_t size() {
        size_t end = 0;
        ((end = (end + alignof(P) - 1) / alignof(P) * alignof(P) + sizeof(P)), ...);
        return end;
    }
    alignas(16) char bytes[size() + 1];

    explicit sim_parameters(const P &...arguments) {
        size_t at = 0;
        ((at = (at + alignof(P) - 1) / alignof(P) * alignof(P),
          __builtin_memcpy(bytes + at, &arguments, sizeof(P)), at += sizeof(P)),
         ...);
    }
};
} // namespace

template <class... P, class... A>
static inline assay_status sim_launch_with(sim_launch launch, dim3 grid, dim3 block,
                                           size_t shared_bytes, void (*kernel)(P...),
                                           A... arguments) {
    static_assert(sizeof...(P) == sizeof...(A), "a launch needs one argument for each parameter");
    auto thread = [kernel, ... parameters = sim_converted<P>(arguments)] { kernel(parameters...); };
    const sim_parameters<P...> parameters(sim_converted<P>(arguments)...);
    launch.grid = {grid.x, grid.y, grid.z};
    launch.block = {block.x, block.y, block.z};
    launch.shared_bytes = shared_bytes;
    launch.section = launch.cluster > 1 ? nullptr : &sim_file_section;
    launch.run = [](const void *closure) { (*static_cast<const decltype(thread) *>(closure))(); };
    launch.closure = &thread;
    launch.function = (const void *)kernel;
    launch.parameters = parameters.bytes;
#if defined(ASSAY_RECORDED)
    launch.records = true;
#endif
    return sim_launch_kernel(&launch);
}

#define SIM_LAUNCH(name, cluster, grid, block, shared_bytes, kernel, ...)                          \
    sim_launch_with(sim_launch{name,                                                               \
                               __FILE__,                                                           \
                               __LINE__,                                                           \
                               {},                                                                 \
                               {},                                                                 \
                               (cluster),                                                          \
                               0,                                                                  \
                               nullptr,                                                            \
                               nullptr,                                                            \
                               nullptr,                                                            \
                               nullptr,                                                            \
                               nullptr},                                                           \
                    (grid), (block), (shared_bytes), kernel __VA_OPT__(, ) __VA_ARGS__)

#define ASSAY_LAUNCH(stream, grid, block, shared_bytes, kernel, ...)                               \
    ((void)(stream),                                                                               \
     SIM_LAUNCH(#kernel, 0, grid, block, shared_bytes, kernel __VA_OPT__(, ) __VA_ARGS__))

#define ASSAY_LAUNCH_CLUSTERS(stream, cluster, grid, block, shared_bytes, kernel, ...)             \
    ((void)(stream),                                                                               \
     SIM_LAUNCH(#kernel, cluster, grid, block, shared_bytes, kernel __VA_OPT__(, ) __VA_ARGS__))

#define ASSAY_DYNAMIC_SHARED(type, name) type *name = static_cast<type *>(sim_dynamic_shared())

#endif
