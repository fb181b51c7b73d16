#include "engine/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double gib = 1 << 30;

double assay_memory_available(void) {
    const char *given = getenv("ASSAY_HOST_MEMORY_GIB");
    if (given != NULL && atof(given) > 0)
        return atof(given) * gib;
    FILE *file = fopen("/proc/meminfo", "r");
    char line[128];
    double kib = INFINITY;
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "MemAvailable: %lf kB", &kib) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return kib * 1024;
}

assay_amount assay_amount_of(const assay_tensor_spec *specs, int32_t count) {
    assay_amount s = {0};
    for (int32_t i = 0; i < count; ++i) {
        const double elements = (double)assay_spec_count(&specs[i]);
        s.elements += elements;
        s.bytes += elements * (double)assay_dtype_size(specs[i].dtype);
    }
    return s;
}

assay_status assay_memory_holds(double bytes) {
    const double there = assay_memory_available();
    if (bytes <= there)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_MEMORY,
                      "needs %.1f GiB of host memory and %.1f GiB are available; choose a smaller "
                      "case or fewer variants, or correct the figure with ASSAY_HOST_MEMORY_GIB",
                      bytes / gib, there / gib);
}

assay_status assay_memory_suffices(const assay_signature *sig, int32_t n_variants) {
    const assay_amount in = assay_amount_of(sig->in, sig->n_in);
    const assay_amount out = assay_amount_of(sig->out, sig->n_out);
    /* Inputs and cotangents, and as many results: one fp64 array of each is a set. */
    const double set = (in.elements + out.elements) * sizeof(double);
    const double kept = (1 + n_variants) * set;
    /* While a variant runs: inputs, outputs and their gradients in device memory and in an image.
     */
    const double running = 2 * 2 * (in.bytes + out.bytes);
    /* While the oracle runs: want, bounds, the twin's inputs and its results. */
    const double judging = 4 * set;
    return assay_memory_holds(kept + fmax(running, judging));
}
