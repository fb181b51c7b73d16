/*
 * An arm of our own with some input sets of one case: asked as a benchmark asks it, and compared
 * with what the check engine's runner gives.
 */
#ifndef ASSAY_TESTS_BENCH_ARM_CLIENT_H
#define ASSAY_TESTS_BENCH_ARM_CLIENT_H

#include "assay/problem.h"
#include "bench/arm_process.h"

#include <stddef.h>

enum { CLIENT_MEMORY = 1 << 22, CLIENT_SETS = 3 };
static const double client_patience = 60; /* seconds; an answer takes milliseconds */

typedef struct client_set {
    assay_problem problem;
    assay_results want;
    size_t *in, *out, *cot, *grad; /* offsets in the memory */
} client_set;

typedef struct client {
    arm_process process;
    const assay_device *device; /* this process's own */
    int file;
    unsigned char *memory;
    size_t used;
    client_set set[CLIENT_SETS];
    int32_t n_sets;
} client;

/* Skips the test where the device is not here. `kernel` may be NULL. */
void client_start(client *c, const char *device, const char *kernel, const char *name);
void client_end(client *c);

/* Must be answered with ok. */
#define SAY(client, ...)                                                                           \
    REQUIRE_OK(arm_process_ask(&(client)->process, client_patience, __VA_ARGS__))
/* Must be answered with no, and that text. */
#define CHECK_REFUSED(client, status, text, ...)                                                   \
    CHECK_FAILS(arm_process_ask(&(client)->process, client_patience, __VA_ARGS__), status, text)

/* Writes a case to the end of the memory: where it lies, for "case %zu". */
size_t client_case(client *c, const char *case_words);

/* Tells it a case and its sets, of seeds 0, 1, ...; the right results are those of `variant`,
 * honest and built in. */
void client_describe(client *c, const char *variant, const char *case_words, int32_t n_sets);

/* Has it leave the results of its last call on the set: whether all of them are, bit for bit, what
 * the runner gives. */
bool client_agrees(client *c, int32_t set, const char *stage);

#endif
