/* System V x86-64: a switch saves the registers that a call must preserve, and nothing else.
 * Kernels change neither MXCSR nor the x87 control word, so both are left alone. */
#include "sim/context.h"

#if !defined(SIM_FIBER_UCONTEXT)

#include <stdint.h>
#include <string.h>

/* `ret` and not an indirect jump: all fibers are suspended at one call, so the processor's stack
 * of return addresses predicts this return and those of the callers, fiber after fiber. */
__asm__(".text\n"
        ".p2align 4\n"
        ".globl sim_context_switch\n"
        ".type sim_context_switch, @function\n"
        "sim_context_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq (%rsi), %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size sim_context_switch, . - sim_context_switch\n");

enum { SAVED_REGISTERS = 6 };

void sim_context_init(sim_context *context, char *low, size_t size, void (*entry)(void)) {
    uintptr_t top = ((uintptr_t)low + size) & ~(uintptr_t)15;
    /* Zeros for the registers, the entry, and a zero as its return address, where unwinding ends;
     * the entry then finds the stack as after a call, 8 bytes off a multiple of 16. */
    void *frame[SAVED_REGISTERS + 2] = {0};
    memcpy(&frame[SAVED_REGISTERS], &entry, sizeof entry);
    char *sp = (char *)(top - sizeof frame);
    memcpy(sp, frame, sizeof frame);
    context->sp = sp;
}

#endif
