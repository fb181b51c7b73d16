/* Atomics on the types that CUDA has them for. */
#ifndef ASSAY_SIM_ATOMIC_H
#define ASSAY_SIM_ATOMIC_H

#define SIM_ATOMIC(cuda, op, suffix, type)                                                         \
    SIM_INLINE type cuda(type *address, type value, SIM_HERE) {                                    \
        return sim_atomic_##op##_##suffix(address, value, file, line);                             \
    }
#define SIM_ATOMIC_INTEGERS(cuda, op)                                                              \
    SIM_ATOMIC(cuda, op, i32, int)                                                                 \
    SIM_ATOMIC(cuda, op, u32, unsigned int)                                                        \
    SIM_ATOMIC(cuda, op, u64, unsigned long long)

SIM_ATOMIC_INTEGERS(atomicAdd, add)
SIM_ATOMIC(atomicAdd, add, f32, float)
SIM_ATOMIC(atomicAdd, add, f64, double)
SIM_ATOMIC(atomicSub, sub, i32, int)
SIM_ATOMIC(atomicSub, sub, u32, unsigned int)
SIM_ATOMIC_INTEGERS(atomicMin, min)
SIM_ATOMIC(atomicMin, min, i64, long long)
SIM_ATOMIC_INTEGERS(atomicMax, max)
SIM_ATOMIC(atomicMax, max, i64, long long)
SIM_ATOMIC_INTEGERS(atomicExch, exch)
SIM_ATOMIC(atomicExch, exch, f32, float)
SIM_ATOMIC_INTEGERS(atomicAnd, and)
SIM_ATOMIC_INTEGERS(atomicOr, or)
SIM_ATOMIC_INTEGERS(atomicXor, xor)
SIM_ATOMIC(atomicInc, inc, u32, unsigned int)
SIM_ATOMIC(atomicDec, dec, u32, unsigned int)

#define SIM_ATOMIC_COMPARE(suffix, type)                                                           \
    SIM_INLINE type atomicCAS(type *address, type compare, type value, SIM_HERE) {                 \
        return sim_atomic_cas_##suffix(address, compare, value, file, line);                       \
    }
SIM_ATOMIC_CAS(SIM_ATOMIC_COMPARE)

#undef SIM_ATOMIC
#undef SIM_ATOMIC_INTEGERS
#undef SIM_ATOMIC_COMPARE

#endif
