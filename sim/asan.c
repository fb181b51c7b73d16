#include "sim/asan.h"

#include "sim/trace.h"

#include <stdint.h>
#include <stdio.h>

#if defined(SIM_ASAN)
#include <sanitizer/asan_interface.h>

void sim_poison(void *memory, size_t bytes, bool on) {
    if (on)
        __asan_poison_memory_region(memory, bytes);
    else
        __asan_unpoison_memory_region(memory, bytes);
}

/* One line beside a sanitizer's own report, which knows the source line but no thread. */
static void say_who_runs(void) {
    char where[SIM_POSITION];
    if (sim_now.kernel && sim_now.thread >= 0)
        fprintf(stderr, "assay: error in %s: %s\n", sim_now.kernel,
                sim_block_thread_text(sim_now.block, sim_now.thread, where));
}

/* AddressSanitizer and UndefinedBehaviorSanitizer call these. */
void __asan_on_error(void);
void __asan_on_error(void) {
    say_who_runs();
}

void __ubsan_on_report(void);
void __ubsan_on_report(void) {
    say_who_runs();
}

/* Exit code 3: the harness or the kernel broke. Fake stacks would outlive the fibers that a
 * defect abandons. A kernel file may define a variant that is built in as well. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "exitcode=3:detect_stack_use_after_return=0:detect_odr_violation=0";
}

#define SIM_NOT_INSTRUMENTED __attribute__((no_sanitize_address))
#else
#define SIM_NOT_INSTRUMENTED

void sim_poison(void *memory, size_t bytes, bool on) {
    (void)memory;
    (void)bytes;
    (void)on;
}
#endif

/* Volatile, so that no compiler makes it a call of memset, which AddressSanitizer intercepts. */
SIM_NOT_INSTRUMENTED void sim_fill(void *memory, size_t bytes) {
    typedef uint64_t wide __attribute__((vector_size(32), may_alias));
    const wide ones = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    volatile unsigned char *byte = memory;
    size_t i = 0;
    for (; i < bytes && ((uintptr_t)(byte + i) % sizeof(wide)) != 0; ++i)
        byte[i] = 0xff;
    for (; i + sizeof(wide) <= bytes; i += sizeof(wide))
        *(volatile wide *)(volatile void *)(byte + i) = ones;
    for (; i < bytes; ++i)
        byte[i] = 0xff;
}
