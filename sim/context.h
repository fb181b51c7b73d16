/*
 * The bare switch of stacks, in two implementations: hand-written for x86-64, and for every other
 * host (or with SIM_FIBER_UCONTEXT) ucontext to enter a stack, setjmp to come back to one.
 */
#ifndef ASSAY_SIM_CONTEXT_H
#define ASSAY_SIM_CONTEXT_H

#include <stddef.h>

#if !defined(__x86_64__) && !defined(SIM_FIBER_UCONTEXT)
#define SIM_FIBER_UCONTEXT 1
#endif

#if defined(SIM_FIBER_UCONTEXT)
#include <setjmp.h>
#include <stdbool.h>
#include <ucontext.h>
typedef struct sim_context {
    bool entered;
    ucontext_t entry; /* until then */
    jmp_buf place;    /* since then: where it left */
} sim_context;
#else
typedef struct sim_context {
    void *sp; /* below it on its stack lie the callee-saved registers and the return address */
} sim_context;
#endif

/* Makes `context` one that calls `entry` on the stack [low, low + size). */
void sim_context_init(sim_context *context, char *low, size_t size, void (*entry)(void));

void sim_context_switch(sim_context *from, sim_context *to);

#endif
