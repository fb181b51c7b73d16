/* Barriers, shuffles, votes, matches and reductions. */
#ifndef ASSAY_SIM_COLLECTIVE_H
#define ASSAY_SIM_COLLECTIVE_H

#define SIM_FULL_MASK 0xffffffffu

SIM_INLINE void __syncthreads(SIM_HERE) {
    sim_barrier(SIM_VOTE_NONE, 0, file, line);
}
SIM_INLINE int __syncthreads_count(int predicate, SIM_HERE) {
    return sim_barrier(SIM_VOTE_COUNT, predicate, file, line);
}
SIM_INLINE int __syncthreads_and(int predicate, SIM_HERE) {
    return sim_barrier(SIM_VOTE_AND, predicate, file, line);
}
SIM_INLINE int __syncthreads_or(int predicate, SIM_HERE) {
    return sim_barrier(SIM_VOTE_OR, predicate, file, line);
}

SIM_INLINE void __syncwarp(unsigned mask = SIM_FULL_MASK, SIM_HERE) {
    sim_meet(SIM_SYNCWARP, mask, 0, 0, 32, file, line);
}
SIM_INLINE unsigned __activemask() {
    return sim_activemask();
}

/* Any type of up to 8 bytes travels as its bits. */
template <class T> SIM_INLINE uint64_t sim_bits(T value) {
    static_assert(sizeof(T) <= sizeof(uint64_t) && std::is_trivially_copyable_v<T>);
    uint64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    return bits;
}
template <class T> SIM_INLINE T sim_value(uint64_t bits) {
    T value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

#define SIM_SHUFFLES(name, kind, operand)                                                          \
    template <class T>                                                                             \
    SIM_INLINE T name(unsigned mask, T value, operand lane, int width = 32, SIM_HERE) {            \
        return sim_value<T>(                                                                       \
            sim_meet(kind, mask, sim_bits(value), (uint32_t)lane, width, file, line));             \
    }
SIM_SHUFFLES(__shfl_sync, SIM_SHUFFLE, int)
SIM_SHUFFLES(__shfl_up_sync, SIM_SHUFFLE_UP, unsigned)
SIM_SHUFFLES(__shfl_down_sync, SIM_SHUFFLE_DOWN, unsigned)
SIM_SHUFFLES(__shfl_xor_sync, SIM_SHUFFLE_XOR, int)
#undef SIM_SHUFFLES

SIM_INLINE unsigned __ballot_sync(unsigned mask, int predicate, SIM_HERE) {
    return (unsigned)sim_meet(SIM_BALLOT, mask, predicate != 0, 0, 32, file, line);
}
SIM_INLINE int __any_sync(unsigned mask, int predicate, SIM_HERE) {
    return (int)sim_meet(SIM_ANY, mask, predicate != 0, 0, 32, file, line);
}
SIM_INLINE int __all_sync(unsigned mask, int predicate, SIM_HERE) {
    return (int)sim_meet(SIM_ALL, mask, predicate != 0, 0, 32, file, line);
}
template <class T> SIM_INLINE unsigned __match_any_sync(unsigned mask, T value, SIM_HERE) {
    return (unsigned)sim_meet(SIM_MATCH_ANY, mask, sim_bits(value), 0, 32, file, line);
}
template <class T>
SIM_INLINE unsigned __match_all_sync(unsigned mask, T value, int *predicate, SIM_HERE) {
    unsigned lanes = (unsigned)sim_meet(SIM_MATCH_ALL, mask, sim_bits(value), 0, 32, file, line);
    *predicate = lanes != 0;
    return lanes;
}

#define SIM_REDUCTION(name, kind, type)                                                            \
    SIM_INLINE type name(unsigned mask, type value, SIM_HERE) {                                    \
        return (type)sim_meet(kind, mask, (uint32_t)value, 0, 32, file, line);                     \
    }
SIM_REDUCTION(__reduce_add_sync, SIM_REDUCE_ADD, unsigned)
SIM_REDUCTION(__reduce_add_sync, SIM_REDUCE_ADD, int)
SIM_REDUCTION(__reduce_min_sync, SIM_REDUCE_MIN, unsigned)
SIM_REDUCTION(__reduce_min_sync, SIM_REDUCE_MIN_SIGNED, int)
SIM_REDUCTION(__reduce_max_sync, SIM_REDUCE_MAX, unsigned)
SIM_REDUCTION(__reduce_max_sync, SIM_REDUCE_MAX_SIGNED, int)
SIM_REDUCTION(__reduce_and_sync, SIM_REDUCE_AND, unsigned)
SIM_REDUCTION(__reduce_or_sync, SIM_REDUCE_OR, unsigned)
SIM_REDUCTION(__reduce_xor_sync, SIM_REDUCE_XOR, unsigned)
#undef SIM_REDUCTION

/* Threads run one at a time and see each other's writes in order: a fence only gives way. */
SIM_INLINE void __threadfence(SIM_HERE) {
    sim_fence(file, line);
}
SIM_INLINE void __threadfence_block(SIM_HERE) {
    sim_fence(file, line);
}
SIM_INLINE void __threadfence_system(SIM_HERE) {
    sim_fence(file, line);
}
SIM_INLINE void __nanosleep(unsigned, SIM_HERE) {
    sim_sleep(file, line);
}

SIM_INLINE void __trap(SIM_HERE) {
    sim_trap("trap", "__trap was called", file, line);
}
SIM_INLINE long long clock64() {
    return sim_clock();
}

#endif
