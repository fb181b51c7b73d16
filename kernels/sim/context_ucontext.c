#include "kernels/sim/context.h"

#if defined(SIM_FIBER_UCONTEXT)

#include <stdlib.h>

void sim_context_init(sim_context *context, char *low, size_t size, void (*entry)(void)) {
    if (getcontext(context) != 0)
        abort(); /* documented to succeed always */
    context->uc_stack.ss_sp = low;
    context->uc_stack.ss_size = size;
    context->uc_link = NULL;
    makecontext(context, entry, 0);
}

void sim_context_switch(sim_context *from, sim_context *to) {
    if (swapcontext(from, to) != 0)
        abort(); /* fails only when a stack has no room for a frame */
}

#endif
