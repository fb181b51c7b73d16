#include "tests/suite/suite.h"
#include "tests/shim/assay_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* sim first: what it lacks is known here, what the GPU's module lacks is seen when a test runs. */
static const char *const devices[] = {"sim",
#ifdef ASSAY_GPU_TESTS /* the build has the CUDA module */
                                      "cuda"
#endif
};

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

static void visit_variants(suite_item item, void (*add)(const suite_item *item)) {
    const assay_device *sim = simulated_device(); /* has every variant that there is */
    for (int32_t i = 0; i < sim->n_variants; ++i) {
        if (strcmp(sim->variants[i]->op, item.c.op->name) != 0)
            continue;
        snprintf(item.variant, sizeof item.variant, "%s", sim->variants[i]->name);
        item.library = sim->variants[i]->library;
        for (size_t d = sim->variants[i]->lacks != NULL; d < sizeof devices / sizeof *devices;
             ++d) {
            item.device = devices[d];
            item.simulated = strcmp(devices[d], sim->name) == 0;
            add(&item);
        }
    }
}

void suite_visit_variants(const assay_case *c, assay_set set, void (*add)(const suite_item *item)) {
    visit_variants((suite_item){.c = *c, .set = set, .smoke = set == ASSAY_SMOKE}, add);
}

typedef struct visit {
    assay_set set;
    bool first; /* nothing of this operator was visited yet */
    void (*add)(const suite_item *item);
} visit;

static assay_status visit_case(const assay_case *c, void *context) {
    visit *v = context;
    visit_variants(
        (suite_item){.c = *c, .set = v->set, .first = v->first, .smoke = v->set == ASSAY_SMOKE},
        v->add);
    v->first = false;
    return ASSAY_OK;
}

void suite_visit(const char *suite, assay_set from, assay_set to,
                 void (*add)(const suite_item *item)) {
    visit v = {.add = add};
    for (int32_t i = 0; i < assay_op_count(); ++i) {
        const assay_op *op = assay_op_at(i);
        if (!assay_test_wanted(suite, op->name))
            continue;
        v.first = true;
        for (int32_t g = 0; g < op->n_cases; ++g) {
            if (op->cases[g].set < from || op->cases[g].set > to)
                continue;
            v.set = op->cases[g].set;
            must(assay_op_visit_group(op, &op->cases[g], visit_case, &v));
        }
    }
}

int64_t suite_elements(const assay_case *c) {
    assay_signature sig;
    int64_t elements = 0;
    if (c->op->signature(&c->params, &sig) != ASSAY_OK)
        return 0;
    for (int32_t i = 0; i < sig.n_in; ++i)
        elements += assay_spec_count(&sig.in[i]);
    for (int32_t o = 0; o < sig.n_out; ++o)
        elements += assay_spec_count(&sig.out[o]);
    assay_signature_clear(&sig);
    return elements;
}

suite_item *suite_keep(const suite_item *item) {
    /* A list, so that a leak checker sees that the items are not lost. */
    static struct kept {
        suite_item item;
        struct kept *before;
    } * last;
    struct kept *kept = malloc(sizeof *kept);
    if (!kept)
        must(assay_fail(ASSAY_ERR_MEMORY, "out of memory for the list of tests"));
    *kept = (struct kept){.item = *item, .before = last};
    last = kept;
    return &kept->item;
}

void suite_register(const char *suite, const char *prefix, const char *labels,
                    const suite_item *item, void (*run)(void *item)) {
    char text[ASSAY_CASE_TEXT], name[ASSAY_CASE_TEXT + 128], all[256];
    assay_case_format(&item->c, text);
    const char *words = strchr(text, ' ');
    snprintf(name, sizeof name, "%s%s%s%s%s%s on %s", prefix, prefix[0] ? " " : "",
             item->c.op->name, item->variant[0] ? "/" : "", item->variant, words ? words : "",
             item->device);
    snprintf(all, sizeof all, "%s %s %s%s", labels, item->c.op->name,
             item->simulated ? "sim" : "gpu", item->smoke ? " smoke" : "");
    assay_test_register(suite, name, all, run, suite_keep(item));
    if (item->n_together > 0)
        assay_test_weigh((unsigned)item->n_together);
}

/* Of the GPU's 15 requests a call, in processes that share it. */
static void keep_memory(const assay_device *device) {
    static bool done;
    if (device->keep_memory && !done)
        device->keep_memory();
    done = done || device->keep_memory;
}

const assay_device *suite_device(const suite_item *item) {
    const assay_device *device = NULL;
    const assay_status status = assay_device_open(item->device, &device);
    if (status == ASSAY_ERR_UNSUPPORTED)
        SKIP_GPU(assay_error());
    REQUIRE_MSG(status == ASSAY_OK, "%s", assay_error());
    keep_memory(device);
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
