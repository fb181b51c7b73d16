/* Times of the simulated device, with plain kernels and with recorded ones: a program, not a test.
 */
#include "assay/status.h"
#include "core/clock.h"
#include "sim/context.h"
#include "sim/sim.h"
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

/* From the device, since the recorder watches no other memory. */
static assay_status take(const assay_device *device, size_t count, float value, float **memory) {
    float *given = malloc(count * sizeof *given);
    void *taken = NULL;
    if (!given)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory");
    for (size_t i = 0; i < count; ++i)
        given[i] = value;
    assay_status status = device->alloc(count * sizeof *given, &taken);
    if (status == ASSAY_OK)
        status = device->upload(taken, given, count * sizeof *given);
    free(given);
    *memory = taken;
    return status;
}

/* The product of two matrices of ones. */
static assay_status check_product(const float *c) {
    for (int i = 0; i < SIDE * SIDE; ++i)
        if (!(c[i] == SIDE))
            return assay_fail(ASSAY_ERR_KERNEL, "element %d of the product is %g", i, (double)c[i]);
    return ASSAY_OK;
}

int main(void) {
    const assay_device *device = assay_sim_device();
    float *a = NULL, *b = NULL, *c = NULL;
    char text[ASSAY_DEVICE_TEXT];
    assay_status status = device->probe(text);
    if (status == ASSAY_OK)
        status = take(device, SIDE * SIDE, 1, &a);
    if (status == ASSAY_OK)
        status = take(device, SIDE * SIDE, 1, &b);
    if (status == ASSAY_OK)
        status = take(device, SIDE * SIDE, 0, &c);
    if (status != ASSAY_OK)
        goto done;
    printf("%s\n", text);
    printf("switch of stacks        %8.1f ns\n", 1e9 * switch_seconds());

    double start = now();
    status = sim_bench_barriers(BLOCK, BARRIERS);
    if (status != ASSAY_OK)
        goto done;
    printf("barrier, %d threads    %8.2f us\n", BLOCK, 1e6 * (now() - start) / BARRIERS);

    start = now();
    status = sim_bench_shuffles(SHUFFLES, c);
    if (status != ASSAY_OK)
        goto done;
    printf("warp shuffle, 32 lanes  %8.2f us\n", 1e6 * (now() - start) / SHUFFLES);

    start = now();
    status = sim_bench_matmul(SIDE, a, b, c);
    if (status == ASSAY_OK)
        status = device->finish();
    if (status == ASSAY_OK)
        status = check_product(c);
    if (status == ASSAY_OK)
        printf("tiled matmul %d^3      %8.3f s\n", SIDE, now() - start);
done:
    if (status != ASSAY_OK)
        fprintf(stderr, "sim_bench: %s\n", assay_error());
    device->release(a);
    device->release(b);
    device->release(c);
    return status == ASSAY_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
