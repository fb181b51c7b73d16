#include "tests/suite/suite.h"
#include "tests/shim/assay_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Builds that instrument the simulated device have nothing to say of a GPU. */
#ifdef ASSAY_INSTRUMENTED
static const char *const devices[] = {"sim"};
#else
static const char *const devices[] = {"sim", "cuda"};
#endif

/* A broken case list must not pass for a short one. */
static void must(assay_status status) {
    if (status == ASSAY_OK)
        return;
    fprintf(stderr, "assay_tests: %s\n", assay_error());
    exit(3);
}

static const assay_device *simulated_device(void) {
    const assay_device *device = NULL;
    must(assay_device_open("sim", &device));
    return device;
}

typedef struct visit {
    suite_item item;
    void (*add)(const suite_item *item);
} visit;

static assay_status visit_case(const assay_case *c, void *context) {
    visit *v = context;
    const assay_device *sim = simulated_device(); /* has every variant that there is */
    v->item.c = *c;
    for (int32_t i = 0; i < sim->n_variants; ++i) {
        if (strcmp(sim->variants[i]->op, c->op->name) != 0)
            continue;
        snprintf(v->item.variant, sizeof v->item.variant, "%s", sim->variants[i]->name);
        for (size_t d = 0; d < sizeof devices / sizeof *devices; ++d) {
            v->item.device = devices[d];
            v->add(&v->item);
        }
    }
    return ASSAY_OK;
}

void suite_visit(assay_set from, assay_set to, void (*add)(const suite_item *item)) {
    visit v = {.add = add};
    for (int32_t i = 0; i < assay_op_count(); ++i) {
        const assay_op *op = assay_op_at(i);
        for (int32_t g = 0; g < op->n_cases; ++g) {
            if (op->cases[g].set < from || op->cases[g].set > to)
                continue;
            v.item.set = op->cases[g].set;
            must(assay_op_visit_group(op, &op->cases[g], visit_case, &v));
        }
    }
}

void suite_register(const char *suite, const char *prefix, const char *labels,
                    const suite_item *item, void (*run)(void *item)) {
    char text[ASSAY_CASE_TEXT], name[ASSAY_CASE_TEXT + 128], all[256];
    assay_case_format(&item->c, text);
    const char *words = strchr(text, ' ');
    snprintf(name, sizeof name, "%s%s%s/%s%s on %s", prefix, prefix[0] ? " " : "", item->c.op->name,
             item->variant, words ? words : "", item->device);
    snprintf(all, sizeof all, "%s %s %s%s", labels, item->c.op->name,
             strcmp(item->device, "sim") == 0 ? "sim" : "gpu",
             item->set == ASSAY_SMOKE ? " smoke" : "");
    suite_item *kept = malloc(sizeof *kept); /* lives as long as the program */
    if (!kept)
        must(assay_fail(ASSAY_ERR_MEMORY, "out of memory for the list of tests"));
    *kept = *item;
    assay_test_register(suite, name, all, run, kept);
}

const assay_device *suite_device(const suite_item *item) {
    const assay_device *device = NULL;
    const assay_status status = assay_device_open(item->device, &device);
    if (status == ASSAY_ERR_UNSUPPORTED)
        SKIP_GPU(assay_error());
    REQUIRE_MSG(status == ASSAY_OK, "%s", assay_error());
    return device;
}

const assay_variant *suite_variant(const suite_item *item, const assay_device *device) {
    for (int32_t i = 0; i < device->n_variants; ++i)
        if (strcmp(device->variants[i]->op, item->c.op->name) == 0 &&
            strcmp(device->variants[i]->name, item->variant) == 0)
            return device->variants[i];
    assay_test_abort(__FILE__, __LINE__, "%s/%s is not on %s", item->c.op->name, item->variant,
                     device->name);
}
