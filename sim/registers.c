#include "sim/registers.h"
#include "sim/defect.h"

enum { LEAST = 24, MOST = 256, STEP = 8, ALL = 1 << 16 };

static sim_registers *now;

void sim_registers_use(sim_registers *registers) {
    now = registers;
}

void sim_registers_set(int32_t n, const char *file, int line) {
    if (n % STEP != 0 || n < LEAST || n > MOST)
        sim_trap("wrong setmaxnreg", "it takes 24 to 256 registers, a multiple of 8", file, line);
    now->of[sim_now.thread / SIM_WARPGROUP] = n;
    now->last = (sim_site){file, line};
}

/* Each thread of a block is launched with as many, a multiple of 8. */
static int32_t most_at_launch(int32_t threads) {
    const int32_t each = ALL / threads / STEP * STEP;
    return each < MOST ? each : MOST;
}

void sim_registers_block_end(const sim_registers *registers) {
    const int32_t each = most_at_launch(sim_now.n_threads);
    int32_t taken = 0, had = 0;
    for (int32_t g = 0; g < SIM_MOST_WARPGROUPS; ++g)
        if (registers->of[g] != 0) {
            taken += registers->of[g];
            had += each;
        }
    if (taken > had)
        sim_defect("deadlock", registers->last.file, registers->last.line,
                   "setmaxnreg: at the end warpgroups have %d registers in all, a thread of each, "
                   "but a block of %d threads is launched with %d at most, %d for each: on a GPU "
                   "one of them waits for ever",
                   (int)taken, (int)sim_now.n_threads, (int)had, (int)each);
}
