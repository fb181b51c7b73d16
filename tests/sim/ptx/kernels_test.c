/*
 * The kernels of this project, compiled to PTX by nvcc, give the bits that the C++ route gives. The
 * host's part is the C++ route's own: its launches are sent to the PTX instead.
 */
#include "tests/sim/ptx/kernels.h"

#include "engine/relations.h"
#include "sim/ptx/launch.h"
#include "sim/runtime.h"
#include "tests/shim/assay_test.h"
#include "tests/suite/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef ASSAY_PTX_FOLDER
#define ASSAY_PTX_FOLDER ""
#endif

enum { ARCHITECTURES = 2 };
static const char *const architectures[ARCHITECTURES] = {"sm_80", "sm_90"};

/* What runs now. */
static struct {
    ptx_module *module;
    const assay_variant *variant;
    int32_t launches;
} now;

static assay_status launch(const sim_launch *l) {
    const char *name = ptx_kernel_name(l->function);
    const ptx_function *kernel = name != NULL ? ptx_module_find(now.module, name) : NULL;
    const uint32_t grid[] = {l->grid.x, l->grid.y, l->grid.z}, cluster[] = {l->cluster, 1, 1};
    const uint32_t block[] = {l->block.x, l->block.y, l->block.z};
    if (kernel == NULL)
        return assay_fail(ASSAY_ERR_USAGE, "no PTX of %s (%s)", l->kernel,
                          name != NULL ? name : "");
    ++now.launches;
    return grid[0] == 0 || grid[1] == 0 || grid[2] == 0
               ? ASSAY_OK
               : ptx_launch(kernel, grid, block, cluster, l->shared_bytes, l->parameters);
}

static assay_status through(assay_status (*stage)(const assay_call *), const assay_call *call) {
    sim_launch_instead = launch;
    const assay_status status = stage(call);
    sim_launch_instead = NULL;
    return status;
}

static assay_status forward(const assay_call *call) {
    return through(now.variant->forward, call);
}

static assay_status backward(const assay_call *call) {
    return through(now.variant->backward, call);
}

/* NULL: nvcc did not make it. */
static char *read_module(const suite_item *item, const char *architecture, size_t *bytes) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s/%s_%s.ptx", ASSAY_PTX_FOLDER, architecture, item->c.op->name,
             item->variant);
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long size = -1;
    if (file == NULL)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (size > 0 && fseek(file, 0, SEEK_SET) == 0)
        text = malloc((size_t)size);
    *bytes = size > 0 ? (size_t)size : 0;
    if (text != NULL && fread(text, 1, *bytes, file) != *bytes) {
        free(text);
        text = NULL;
    }
    fclose(file);
    return text;
}

/* The module of a variant; kept for the next case, which is mostly of the same one. */
static ptx_module *module_of(const suite_item *item, size_t architecture) {
    static struct {
        const char *op;
        char variant[sizeof item->variant];
        ptx_module *module;
    } kept[ARCHITECTURES];
    size_t bytes;
    if (kept[architecture].op == item->c.op->name &&
        strcmp(kept[architecture].variant, item->variant) == 0)
        return kept[architecture].module;
    ptx_module_free(kept[architecture].module);
    kept[architecture].module = NULL;
    kept[architecture].op = item->c.op->name;
    memcpy(kept[architecture].variant, item->variant, sizeof item->variant);
    char *text = read_module(item, architectures[architecture], &bytes);
    if (text != NULL)
        REQUIRE_OK(
            ptx_module_load(text, bytes, architectures[architecture], &kept[architecture].module));
    free(text);
    return kept[architecture].module;
}

static bool compare(const suite_item *item, size_t architecture) {
    const assay_device *sim = suite_device(item);
    const assay_variant *variant = suite_variant(item, sim);
    assay_variant other = *variant;
    assay_device device = *sim;
    assay_relation_report report;
    now.module = module_of(item, architecture);
    now.variant = variant;
    now.launches = 0;
    if (now.module == NULL)
        return false;
    other.forward = variant->forward != NULL ? forward : NULL;
    other.backward = variant->backward != NULL ? backward : NULL;
    device.name = architectures[architecture];
    REQUIRE_OK(assay_check_same_bits(&item->c, sim, variant, &device, &other, &report));
    CHECK_MSG(report.verdict == ASSAY_PASS, "%s", report.reason);
    CHECK(now.launches > 0);
    return true;
}

static void run(void *context) {
    bool ran = false;
    for (size_t i = 0; i < ARCHITECTURES; ++i)
        ran = compare(context, i) || ran;
    if (!ran)
        SKIP("this build has no PTX of it: nvcc was not found, or is not to be used");
}

static void add(const suite_item *item) {
    suite_item asked = *item;
    asked.smoke = item->first; /* most of the time is that of the C compiler, a kernel at a time */
    if (item->simulated && !item->library)
        suite_register("ptx_bits", "sim and PTX,", "check", &asked, run);
}

__attribute__((constructor)) static void register_ptx_bits(void) {
    suite_visit("ptx_bits", ASSAY_SMOKE, ASSAY_SMOKE, add);
}
