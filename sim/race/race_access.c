/*
 * Under -fsanitize=thread gcc and clang call these functions for each access of a kernel:
 * ThreadSanitizer's entry points, with our own recorder behind them. Nothing else in the program is
 * compiled so, and ThreadSanitizer's runtime is not linked.
 */
#include "sim/race/race_access.h"
#include "sim/race/shadow.h"
#include "sim/runtime.h"

#include <stdint.h>

__attribute__((constructor)) static void be_known(void) {
    sim_race_compiled = true;
    sim_race_guard = sim_shadow_guard;
}

#define HERE ((uint64_t)(uintptr_t)__builtin_return_address(0))

#define ENTRY(name, size, kind)                                                                    \
    void name(void *address);                                                                      \
    void name(void *address) {                                                                     \
        sim_race_access(address, size, kind, HERE);                                                \
    }
#define ENTRIES(size)                                                                              \
    ENTRY(__tsan_read##size, size, SIM_READ)                                                       \
    ENTRY(__tsan_write##size, size, SIM_WRITE)                                                     \
    ENTRY(__tsan_unaligned_read##size, size, SIM_READ)                                             \
    ENTRY(__tsan_unaligned_write##size, size, SIM_WRITE)                                           \
    ENTRY(__tsan_volatile_read##size, size, SIM_READ)                                              \
    ENTRY(__tsan_volatile_write##size, size, SIM_WRITE)                                            \
    ENTRY(__tsan_unaligned_volatile_read##size, size, SIM_READ)                                    \
    ENTRY(__tsan_unaligned_volatile_write##size, size, SIM_WRITE)
ENTRIES(1)
ENTRIES(2)
ENTRIES(4)
ENTRIES(8)
ENTRIES(16)

/* A read and a write of the same bytes, as clang reports `x += 1`. */
#define ENTRY_BOTH(name, size)                                                                     \
    void name(void *address);                                                                      \
    void name(void *address) {                                                                     \
        sim_race_access(address, size, SIM_READ, HERE);                                            \
        sim_race_access(address, size, SIM_WRITE, HERE);                                           \
    }
#define ENTRIES_BOTH(size)                                                                         \
    ENTRY_BOTH(__tsan_read_write##size, size)                                                      \
    ENTRY_BOTH(__tsan_unaligned_read_write##size, size)
ENTRIES_BOTH(1)
ENTRIES_BOTH(2)
ENTRIES_BOTH(4)
ENTRIES_BOTH(8)
ENTRIES_BOTH(16)

#define ENTRY_RANGE(name, kind)                                                                    \
    void name(void *address, size_t bytes);                                                        \
    void name(void *address, size_t bytes) {                                                       \
        sim_race_access(address, bytes, kind, HERE);                                               \
    }
ENTRY_RANGE(__tsan_read_range, SIM_READ)
ENTRY_RANGE(__tsan_write_range, SIM_WRITE)

/* Words, since a call of memcpy would be recorded as well. */
static void copy_whole(void *to, const void *from) {
    typedef uint64_t __attribute__((may_alias, aligned(1))) any64;
    for (size_t i = 0; i < SIM_WHOLE / sizeof(any64); ++i)
        ((volatile any64 *)to)[i] = ((const volatile any64 *)from)[i];
}

void sim_load_whole(void *to, const void *from) {
    sim_race_access(from, SIM_WHOLE, SIM_READ, HERE);
    copy_whole(to, from);
}

void sim_store_whole(void *to, const void *from) {
    sim_race_access(to, SIM_WHOLE, SIM_WRITE, HERE);
    copy_whole(to, from);
}

/* A virtual table's pointer. */
ENTRY(__tsan_vptr_read, sizeof(void *), SIM_READ)
void __tsan_vptr_update(void **address, void *value);
void __tsan_vptr_update(void **address, void *value) {
    (void)value;
    sim_race_access(address, sizeof *address, SIM_WRITE, HERE);
}

void __tsan_init(void);
void __tsan_init(void) {
}
void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller) {
    (void)caller;
}
void __tsan_func_exit(void);
void __tsan_func_exit(void) {
}

/* The guard of a function's static variable with a constructor: host code beside the kernels. */
uint8_t __tsan_atomic8_load(const volatile uint8_t *address, int order);
uint8_t __tsan_atomic8_load(const volatile uint8_t *address, int order) {
    (void)order;
    return __atomic_load_n(address, __ATOMIC_SEQ_CST);
}

/*
 * Copies: gcc reports them, or calls memcpy and relies on ThreadSanitizer to replace it; clang 14
 * does so even for a float4. The linker sends every such call of the program here (--wrap), those
 * of the runtime and of the host too: they concern memory that nothing watches, or no thread runs.
 */
extern void *__real_memcpy(void *to, const void *from, size_t bytes);
extern void *__real_memmove(void *to, const void *from, size_t bytes);
extern void *__real_memset(void *to, int value, size_t bytes);

static void copied(void *to, const void *from, size_t bytes, uint64_t place) {
    sim_race_copied(from, bytes, SIM_READ, place);
    sim_race_copied(to, bytes, SIM_WRITE, place);
}

#define COPY(name, real)                                                                           \
    void *name(void *to, const void *from, size_t bytes);                                          \
    void *name(void *to, const void *from, size_t bytes) {                                         \
        copied(to, from, bytes, HERE);                                                             \
        return real(to, from, bytes);                                                              \
    }
COPY(__wrap_memcpy, __real_memcpy)
COPY(__wrap_memmove, __real_memmove)
COPY(__tsan_memcpy, __real_memcpy)
COPY(__tsan_memmove, __real_memmove)

#define FILL(name)                                                                                 \
    void *name(void *to, int value, size_t bytes);                                                 \
    void *name(void *to, int value, size_t bytes) {                                                \
        sim_race_copied(to, bytes, SIM_WRITE, HERE);                                               \
        return __real_memset(to, value, bytes);                                                    \
    }
FILL(__wrap_memset)
FILL(__tsan_memset)
