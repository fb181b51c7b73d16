/*
 * Atomics: threads run one at a time, so a read and a write are enough. An atomic that leaves
 * memory as it was may be a thread that waits for another one; after SPINS of them the others get
 * their turn.
 */
#include "sim/block.h"

#include <string.h>

enum { SPINS = 64 };

static void spin(sim_place place) {
    static int32_t spins;
    if (++spins < SPINS)
        return;
    spins = 0;
    sim_rest(place);
}

void sim_atomic_done(const volatile void *address, size_t bytes, bool changed, const char *file,
                     int line) {
    trace_access(address, bytes, SIM_READS | SIM_WRITES | SIM_STRONG, file, line);
    sim_atomic_turn(changed, file, line);
}

void sim_atomic_turn(bool changed, const char *file, int line) {
    if (changed)
        sim_progress();
    else
        spin((sim_place){"an atomic", file, line});
}

void sim_fence(const char *file, int line) {
    trace_fence(SIM_ACQUIRE | SIM_RELEASE);
    spin((sim_place){"a fence", file, line});
}

void sim_poll(const char *call, const char *file, int line) {
    spin((sim_place){call, file, line});
}

/* A loop that reads one place over and over by plain loads, or nothing, waits for what no other
 * thread can tell it; where accesses are not recorded it may as well compute. */
void sim_turn(const char *file, int line) {
    enum { READING = 1 << 9, IDLE = 1 << 1 };
    switch (sim_trace_on ? sim_trace_turn() : SIM_TURN_BUSY) {
    case SIM_TURN_READING:
        sim_rest_long((sim_place){"a plain read of memory", file, line}, READING);
        break;
    case SIM_TURN_IDLE:
        sim_rest_long((sim_place){"nothing: its plain read is not in the loop", file, line}, IDLE);
        break;
    case SIM_TURN_BUSY:
        sim_rest_long((sim_place){"a loop", file, line}, 0);
        break;
    }
}

void sim_sleep(const char *file, int line) {
    sim_rest((sim_place){"__nanosleep", file, line});
}

/* Integers wrap around, as on the device. */
#define WRAP(builtin, old, value)                                                                  \
    __extension__({                                                                                \
        __typeof__(old) wrapped;                                                                   \
        builtin(old, value, &wrapped);                                                             \
        wrapped;                                                                                   \
    })
#define NEXT_add(old, value)  WRAP(__builtin_add_overflow, old, value)
#define NEXT_sub(old, value)  WRAP(__builtin_sub_overflow, old, value)
#define NEXT_min(old, value)  ((value) < (old) ? (value) : (old))
#define NEXT_max(old, value)  ((value) > (old) ? (value) : (old))
#define NEXT_exch(old, value) (value)
#define NEXT_and(old, value)  ((old) & (value))
#define NEXT_or(old, value)   ((old) | (value))
#define NEXT_xor(old, value)  ((old) ^ (value))
#define NEXT_inc(old, value)  ((old) >= (value) ? 0 : (old) + 1)
#define NEXT_dec(old, value)  ((old) == 0 || (old) > (value) ? (value) : (old)-1)

#define NEXT_FLOAT_add(old, value)  ((old) + (value))
#define NEXT_FLOAT_exch(old, value) (value)

#define DEFINE_AS(NEXT, op, suffix, type)                                                          \
    type sim_atomic_##op##_##suffix(type *address, type value, const char *file, int line) {       \
        sim_require_aligned("an atomic", address, sizeof(type), file, line);                       \
        type old = *address, next = NEXT(old, value);                                              \
        *address = next;                                                                           \
        sim_atomic_done(address, sizeof old, memcmp(&old, &next, sizeof old) != 0, file, line);    \
        return old;                                                                                \
    }
#define DEFINE(op, suffix, type)       DEFINE_AS(NEXT_##op, op, suffix, type)
#define DEFINE_FLOAT(op, suffix, type) DEFINE_AS(NEXT_FLOAT_##op, op, suffix, type)
#define DEFINE_CAS(suffix, type)                                                                   \
    type sim_atomic_cas_##suffix(type *address, type compare, type value, const char *file,        \
                                 int line) {                                                       \
        sim_require_aligned("an atomic", address, sizeof(type), file, line);                       \
        const type old = *address;                                                                 \
        trace_compare(address, sizeof old, &compare, file, line);                                  \
        if (old == compare)                                                                        \
            *address = value;                                                                      \
        sim_atomic_turn(old == compare && old != value, file, line);                               \
        return old;                                                                                \
    }

SIM_ATOMICS(DEFINE)
SIM_ATOMICS_FLOAT(DEFINE_FLOAT)
SIM_ATOMIC_CAS(DEFINE_CAS)
