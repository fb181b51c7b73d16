/* The gate of assay bench: a variant of ours is timed when a valid certificate says that it is
 * right, or when it passes its smoke set now. */
#ifndef ASSAY_CLI_BENCH_GATE_H
#define ASSAY_CLI_BENCH_GATE_H

#include "bench/session.h"
#include "cli/cli.h"

typedef struct bench_ruling {
    char op[BENCH_NAME], variant[BENCH_NAME];
    assay_dtype dtype; /* a Python function is proven in each dtype on its own */
    bool open;
    char why[BENCH_REASON];
} bench_ruling;

typedef struct bench_gate_state {
    const assay_cli_args *args;
    const assay_device *isolated;
    bench_ruling *ruling; /* one for each variant that was asked for */
    int32_t count;
} bench_gate_state;

/* A bench_gate (bench/session.h); the context is a bench_gate_state. */
bool bench_gate_open(void *context, const assay_case *c, const char *variant,
                     char why[BENCH_REASON]);
void bench_gate_clear(bench_gate_state *g);

#endif
