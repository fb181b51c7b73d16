#include "sim/context.h"

#if defined(SIM_FIBER_UCONTEXT)

#include <stdlib.h>

void sim_context_init(sim_context *context, char *low, size_t size, void (*entry)(void)) {
    if (getcontext(&context->entry) != 0)
        abort(); /* documented to succeed always */
    context->entry.uc_stack.ss_sp = low;
    context->entry.uc_stack.ss_size = size;
    context->entry.uc_link = NULL;
    makecontext(&context->entry, entry, 0);
    context->entered = false;
}

/* swapcontext would do all of it, with two system calls for the signal mask each time. */
void sim_context_switch(sim_context *from, sim_context *to) {
    from->entered = true;
    if (_setjmp(from->place) != 0)
        return;
    if (to->entered)
        _longjmp(to->place, 1);
    setcontext(&to->entry);
    abort(); /* only reached when the stack has no room for a frame */
}

#endif
