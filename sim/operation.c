#include "sim/operation.h"

#include "sim/schedule.h"

#include <stdlib.h>

/* Of all blocks, in the order of issue. */
static sim_operation *first, **last = &first;

void sim_operation_issue(sim_operation *op) {
    op->block = sim_now.block;
    op->thread = sim_now.thread;
    op->next = NULL;
    *last = op;
    last = &op->next;
    if (!sim_schedule_delays()) {
        op->done = true;
        op->run(op);
    }
}

static void run(sim_operation *op) {
    if (op->done)
        return;
    op->done = true;
    op->run(op);
    sim_progress();
}

static void drop(sim_operation **link) {
    sim_operation *op = *link;
    *link = op->next;
    if (last == &op->next)
        last = link;
    free(op);
}

const sim_operation *sim_operation_under_way(const void *barrier) {
    const sim_operation *op = first;
    while (op != NULL && (op->barrier != barrier || op->done))
        op = op->next;
    return op;
}

bool sim_operation_advance(const void *barrier) {
    for (sim_operation *op = first; op != NULL; op = op->next)
        if (op->barrier == barrier && !op->done) {
            run(op);
            return true;
        }
    return false;
}

void sim_operation_awaited(const void *barrier, uint32_t phases) {
    for (sim_operation **link = &first; *link != NULL;) {
        sim_operation *op = *link;
        if (op->barrier == barrier && op->done && (int32_t)(phases - op->phase) > 0)
            drop(link);
        else
            link = &op->next;
    }
}

void sim_operation_wait(uint32_t until) {
    for (sim_operation **link = &first; *link != NULL;) {
        sim_operation *op = *link;
        if (op->barrier == NULL && op->block == sim_now.block && op->thread == sim_now.thread &&
            (int32_t)(until - op->group) > 0) {
            run(op);
            drop(link);
        } else {
            link = &op->next;
        }
    }
}

SIM_REPORT static void report(const sim_operation *op) {
    char where[SIM_POSITION];
    sim_defect(
        "unfinished copy", op->site.file, op->site.line,
        "%s issued it, and its block ends before any thread has waited for it: %u bytes of the "
        "block's shared memory are %s",
        sim_block_thread_text(op->block, op->thread, where), op->bytes,
        op->barrier != NULL ? "written" : "read");
    sim_abandon();
}

void sim_operation_block_end(void) {
    const sim_range shared = sim_block_shared();
    for (const sim_operation *op = first; op != NULL; op = op->next)
        if (sim_in_range(&shared, op->shared))
            report(op);
}

void sim_operation_forget(void) {
    while (first != NULL)
        drop(&first);
}
