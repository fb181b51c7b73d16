/*
 * assay_guest DEVICE [KERNEL.so]: runs variants for the check engine, in a process of their own
 * (engine/isolate.h). It holds no oracle. Work comes as frames through the socket
 * PROCESS_CHANNEL; it ends when that is closed.
 */
#include "assay/device.h"
#include "engine/frame.h"
#include "engine/guest/recycle.h"
#include "engine/inside.h"
#include "engine/process/process.h"
#include "engine/runner.h"
#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Devices' tables name their oracles; here there are none. */
const assay_device_oracle *const assay_sim_oracles[] = {NULL};
const int32_t assay_sim_n_oracles = 0;

static bool say(const char *word) {
    return channel_send(PROCESS_CHANNEL, word, strlen(word), -1);
}

/* The next frame's file, or -1 when there is no more. */
static int take(void) {
    char word;
    int file;
    return channel_receive(PROCESS_CHANNEL, &word, 1, &file) == 1 ? file : -1;
}

/* ---- one frame ---- */

static int64_t common_divisor(int64_t a, int64_t b) {
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* What a rehearsal makes of a tensor: the same elements, so that they are legal. */
typedef void (*rearranger)(assay_rng *rng, const double *from, double *to, int64_t count);

/* Every element once, in strides that do not divide their number, from a place that is not the
 * first. Each tensor has an order of its own, so that the answer is not the other one turned round.
 */
static void scramble(assay_rng *rng, const double *from, double *to, int64_t count) {
    int64_t step = count > 1 ? assay_rng_between(rng, 1, count - 1) : 1;
    int64_t at = count > 1 ? assay_rng_between(rng, 1, count - 1) : 0;
    while (common_divisor(step, count) != 1)
        ++step;
    for (int64_t e = 0; e < count; ++e, at = (at + step) % count)
        to[e] = from[at];
}

/* Two elements have changed places: who looks at a part of the data takes them for the same. */
static void touch(assay_rng *rng, const double *from, double *to, int64_t count) {
    memcpy(to, from, (size_t)count * sizeof *to);
    if (count < 2)
        return;
    const int64_t a = assay_rng_between(rng, 0, count - 1);
    const int64_t b = (a + assay_rng_between(rng, 1, count - 1)) % count;
    to[a] = from[b];
    to[b] = from[a];
}

static void rearrange(rearranger how, assay_rng *rng, const assay_arrays *from,
                      const assay_arrays *to) {
    for (int32_t i = 0; i < to->count; ++i)
        if (to->data[i])
            how(rng, from->data[i], to->data[i], to->size[i]);
}

static assay_status arrays_like(const assay_arrays *model, assay_arrays *arrays) {
    assay_status status = assay_arrays_init(arrays, model->count);
    for (int32_t i = 0; status == ASSAY_OK && i < model->count; ++i)
        if (model->data[i])
            status = assay_arrays_add(arrays, i, model->size[i]);
    return status;
}

/* Runs on other data of the same shapes, at the same addresses; the last of several on data that
 * are nearly those to come. */
static assay_status rehearse(const frame *f, const assay_device *device,
                             const assay_variant *variant) {
    const assay_problem *p = &f->problem;
    assay_problem other = *p;
    assay_results got = {0};
    assay_rng rng = {.seed = f->head->seed, .stream = assay_rng_stream("rehearsal")};
    other.cot = (assay_arrays){0};
    assay_status status = arrays_like(&p->in, &other.in);
    if (status == ASSAY_OK)
        status = arrays_like(&p->cot, &other.cot);
    if (status == ASSAY_OK)
        status = assay_results_init(&got, &other.sig);
    for (int32_t i = 0; status == ASSAY_OK && i < f->head->rehearsals; ++i) {
        const rearranger how = i > 0 && i + 1 == f->head->rehearsals ? touch : scramble;
        rearrange(how, &rng, &p->in, &other.in);
        rearrange(how, &rng, &p->cot, &other.cot);
        recycle_rewind();
        status = assay_run(variant, device, &other, &got);
    }
    recycle_rewind();
    assay_results_clear(&got);
    assay_arrays_clear(&other.in);
    assay_arrays_clear(&other.cot);
    return status;
}

static void answer(frame *f, const assay_device *device, const char *kernel) {
    frame_head *h = f->head;
    const assay_variant *variant;
    const assay_device *same = recycle_begin(device);
    assay_status status = inside_find_variant(device, kernel, h->op, h->variant, &variant);
    if (status == ASSAY_OK && h->rehearsals > 0)
        status = rehearse(f, same, variant);
    if (status == ASSAY_OK)
        status = assay_run(variant, h->rehearsals > 0 ? same : device, &f->problem, &f->results);
    recycle_end();
#if defined(ASSAY_COVERAGE)
    sim_coverage_take(h->edges, FRAME_EDGES);
#endif
    h->status = status;
    h->failure = assay_error_failure();
    snprintf(h->line, sizeof h->line, "%s", status == ASSAY_OK ? "" : assay_error());
    h->answered = true;
}

int main(int argc, char **argv) {
    const assay_device *device;
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "assay_guest is started by assay: see assay help check\n");
        return 2;
    }
    inside_settle();
    if (assay_device_open_bare(argv[1], &device) != ASSAY_OK)
        return say(assay_error()) ? 3 : 2;
    if (!say("ready"))
        return 2;
    for (int file; (file = take()) >= 0;) {
        frame f;
        if (frame_open(&f, file) != ASSAY_OK) {
            fprintf(stderr, "%s\n", assay_error());
            return 3;
        }
        answer(&f, device, argc > 2 ? argv[2] : NULL);
        frame_clear(&f);
        if (!say("done"))
            return 3;
    }
    return 0;
}
