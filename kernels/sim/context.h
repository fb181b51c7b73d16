/*
 * The bare switch of stacks, in two implementations: hand-written for x86-64, and ucontext for
 * every other host (or with SIM_FIBER_UCONTEXT), which costs two system calls a switch.
 */
#ifndef ASSAY_SIM_CONTEXT_H
#define ASSAY_SIM_CONTEXT_H

#include <stddef.h>

#if !defined(__x86_64__) && !defined(SIM_FIBER_UCONTEXT)
#define SIM_FIBER_UCONTEXT 1
#endif

#if defined(SIM_FIBER_UCONTEXT)
#include <ucontext.h>
typedef ucontext_t sim_context;
#else
typedef struct sim_context {
    void *sp; /* below it on its stack lie the callee-saved registers and the return address */
} sim_context;
#endif

/* Makes `context` one that calls `entry` on the stack [low, low + size). */
void sim_context_init(sim_context *context, char *low, size_t size, void (*entry)(void));

void sim_context_switch(sim_context *from, sim_context *to);

#endif
