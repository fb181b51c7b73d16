#include "sim/exec/device.h"

#include "sim/exec/call.h"
#include "sim/exec/memory.h"
#include "sim/exec/module.h"
#include "sim/exec/report.h"
#include "sim/exec/stream.h"

#include <stdio.h>

static const assay_device *base_device;

static assay_status allocate(size_t bytes, void **memory) {
    return exec_module_any()
               ? exec_memory_allocate(bytes, EXEC_DEVICE, "a tensor with its guards", memory)
               : base_device->alloc(bytes, memory);
}

static void release(void *memory) {
    if (memory == NULL || exec_memory_find(memory) == NULL)
        base_device->release(memory);
    else
        (void)!exec_memory_free(memory); /* it is one of ours */
}

/* An unknown instruction matters where a thread reaches it, which is a defect of its launch; notes
 * are of races that change no result. */
static bool counts(exec_problem_kind kind) {
    return kind != EXEC_PROBLEM_OPCODE && kind != EXEC_PROBLEM_LEAK && !exec_problem_is_note(kind);
}

static assay_status problem(const exec_report *r) {
    for (uint32_t i = 0; i < r->n_problems; ++i)
        if (counts(r->problem[i].kind))
            return assay_fail(ASSAY_ERR_KERNEL, "%s", r->problem[i].text);
    if (r->unseen == EXEC_SUCCESS)
        return ASSAY_OK;
    const char *name = exec_error_runtime_name(r->unseen), *text = exec_error_text(r->unseen);
    return assay_fail(ASSAY_ERR_KERNEL, "%s returned %s (%s)", r->unseen_call,
                      name != NULL ? name : "an error", text != NULL ? text : "of no name");
}

static assay_status finish(void) {
    exec_report *r = exec_report_get();
    exec_streams_synchronize();
    const assay_status noted = base_device->finish(), told = problem(r);
    r->n_problems = 0;
    r->unseen = EXEC_SUCCESS;
    exec_device_found();
    return noted != ASSAY_OK && told == ASSAY_OK ? noted : told;
}

const assay_device *exec_device(const assay_device *base) {
    static assay_device device;
    base_device = base;
    device = *base;
    device.alloc = allocate;
    device.release = release;
    device.finish = finish;
    return &device;
}
