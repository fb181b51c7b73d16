#include "sim/exec/fault.h"

#include "sim/block.h"
#include "sim/exec/memory.h"
#include "sim/trace.h"

#include <signal.h>
#include <stddef.h>

static struct sigaction before[2];
static const int signals[2] = {SIGSEGV, SIGBUS};

/* The signal comes from an instruction of the kernel, on the stack of its thread, which is left for
 * good; so nothing that this calls is interrupted in its midst. */
static void stray(int number, siginfo_t *info, void *context) {
    (void)context;
    char where[EXEC_MEMORY_LINE], thread[SIM_POSITION];
    if (sim_now.kernel == NULL || sim_now.thread < 0) { /* not a kernel: as without this */
        signal(number, SIG_DFL);
        return;
    }
    const bool known = exec_memory_describe(info->si_addr, where);
    sim_defect(EXEC_FAULT, NULL, 0, "%s: address %p, %s",
               sim_block_thread_text(sim_now.block, sim_now.thread, thread), info->si_addr,
               known ? where : "near to no allocation of the device");
    sim_abandon();
}

void exec_fault_begin(void) {
    struct sigaction action = {.sa_sigaction = stray, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < 2; ++i)
        sigaction(signals[i], &action, &before[i]);
}

void exec_fault_end(void) {
    for (int i = 0; i < 2; ++i)
        sigaction(signals[i], &before[i], NULL);
}
