/* What the simulated device costs: a program, not a test. */
#include "core/clock.h"
#include "sim/context.h"
#include "tests/sim/kernels.h"

#include <stdio.h>
#include <stdlib.h>

enum { SWITCHES = 10000000, BARRIERS = 10000, SHUFFLES = 100000, BLOCK = 256, SIDE = 256 };

static sim_context host, other;

static void answer(void) {
    for (;;)
        sim_context_switch(&other, &host);
}

static double switch_seconds(void) {
    static char stack[64 * 1024];
    sim_context_init(&other, stack, sizeof stack, answer);
    double start = now();
    for (int i = 0; i < SWITCHES / 2; ++i)
        sim_context_switch(&host, &other);
    return (now() - start) / SWITCHES;
}

int main(void) {
    enum { ELEMENTS = SIDE * SIDE };
    int code = EXIT_FAILURE;
    float *a = calloc(3 * ELEMENTS, sizeof *a);
    if (!a)
        goto done;
    printf("switch of stacks        %8.1f ns\n", 1e9 * switch_seconds());

    double start = now();
    if (sim_bench_barriers(BLOCK, BARRIERS) != ASSAY_OK)
        goto done;
    printf("barrier, %d threads    %8.2f us\n", BLOCK, 1e6 * (now() - start) / BARRIERS);

    start = now();
    if (sim_bench_shuffles(SHUFFLES, a) != ASSAY_OK)
        goto done;
    printf("warp shuffle, 32 lanes  %8.2f us\n", 1e6 * (now() - start) / SHUFFLES);

    start = now();
    if (sim_bench_matmul(SIDE, a, a + ELEMENTS, a + 2 * ELEMENTS) != ASSAY_OK)
        goto done;
    printf("tiled matmul %d^3      %8.3f s\n", SIDE, now() - start);
    code = EXIT_SUCCESS;
done:
    if (code != EXIT_SUCCESS)
        fprintf(stderr, "sim_bench: %s\n", a ? assay_error() : "out of memory");
    free(a);
    return code;
}
