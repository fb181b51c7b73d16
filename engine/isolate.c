#include "engine/isolate.h"
#include "core/place.h"
#include "engine/frame.h"
#include "engine/guest.h"
#include "engine/kernel_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* How often the tensors lie in a guest's memory: the frame, images, device memory, rehearsals. */
enum { COPIES = 6 };

/* Bytes of a whole's tensors (sample.h) that are made, sent and looked at in a second, at least. */
static const double sampled_speed = 1 << 26;

typedef struct isolated {
    assay_device device; /* what callers hold. First, so that its address is this one's. */
    const assay_device *base;
    assay_isolation how;
    char program[PATH_MAX];
    assay_variant stranger; /* stands for the kernel file's variant */
    const assay_variant **variants;
    process *guests; /* one for each variant or, together, the first; started when first asked */
    const char *current; /* the operator that has guests */
    uint8_t edges[FRAME_EDGES];
} isolated;

/* There is nothing to wait for: a guest has answered before a run returns. Only isolated devices
 * have this function, which tells them from others. */
static assay_status finish_isolated(void) {
    return ASSAY_OK;
}

bool assay_is_isolated(const assay_device *device) {
    return device->finish == finish_isolated;
}

/* NULL for a device that is not isolated. */
static isolated *find_isolated(const assay_device *device) {
    return assay_is_isolated(device) ? (isolated *)device : NULL;
}

static assay_status find_program(const char *wanted, char path[PATH_MAX]) {
    const assay_status status = wanted ? ASSAY_OK : assay_place("assay_guest", path);
    if (status != ASSAY_OK)
        return status;
    if (wanted)
        snprintf(path, PATH_MAX, "%s", wanted);
    if (access(path, X_OK) == 0)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_FILE,
                      "%.200s, which runs variants, is not there: build the target assay_guest",
                      path);
}

/* The base's variants, the stranger last or in the place of its namesake. */
static assay_status list_variants(isolated *i) {
    const assay_device *base = i->base;
    int32_t n = base->n_variants, at = n;
    i->variants = calloc((size_t)n + 1, sizeof *i->variants);
    i->guests = calloc((size_t)n + 1, sizeof *i->guests);
    if (!i->variants || !i->guests)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for the variants of %s", base->name);
    for (int32_t v = 0; v < n; ++v) {
        i->variants[v] = base->variants[v];
        if (i->how.kernel && strcmp(base->variants[v]->op, i->how.op) == 0 &&
            strcmp(base->variants[v]->name, i->how.variant) == 0)
            at = v;
    }
    if (i->how.kernel) {
        i->stranger = (assay_variant){.op = i->how.op,
                                      .name = i->how.variant,
                                      .device = base->name,
                                      .summary = i->how.kernel};
        i->variants[at] = &i->stranger;
        n = at == n ? n + 1 : n;
    }
    i->device.variants = i->variants;
    i->device.n_variants = n;
    return ASSAY_OK;
}

assay_status assay_isolate(const assay_device *device, const assay_isolation *how,
                           const assay_device **made) {
    *made = NULL;
    if (how->kernel) {
        char symbol[KERNEL_SYMBOL];
        kernel_file_symbol(how->op, how->variant, device->name, symbol);
        const assay_status named = kernel_file_names(how->kernel, symbol);
        if (named != ASSAY_OK)
            return named;
    }
    isolated *i = calloc(1, sizeof *i);
    if (!i)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for the device %s", device->name);
    i->device = *device;
    i->device.finish = finish_isolated;
    i->base = device;
    i->how = *how;
    assay_status status = find_program(how->guest, i->program);
    if (status == ASSAY_OK)
        status = list_variants(i);
    if (status == ASSAY_OK)
        *made = &i->device;
    else
        assay_isolate_end(&i->device);
    return status;
}

static void end_guests(isolated *i) {
    for (int32_t v = 0; i->guests && v < i->device.n_variants; ++v)
        process_stop(&i->guests[v]);
}

void assay_isolate_end(const assay_device *device) {
    isolated *i = device ? find_isolated(device) : NULL;
    if (!i)
        return;
    end_guests(i);
    free(i->guests);
    free(i->variants);
    free(i);
}

const assay_device *assay_isolated_base(const assay_device *device) {
    const isolated *i = find_isolated(device);
    return i ? i->base : device;
}

const char *assay_isolated_kernel(const assay_device *device, const assay_variant *variant) {
    const isolated *i = find_isolated(device);
    return i && variant == &i->stranger ? i->how.kernel : NULL;
}

const char *assay_isolated_program(const assay_device *device) {
    return find_isolated(device)->program;
}

static int32_t rehearsals(const assay_isolation *how) {
    uint32_t bits;
    if (!how->surprise || how->rehearsals <= 1 || getrandom(&bits, sizeof bits, 0) != sizeof bits)
        return how->rehearsals;
    return 1 + (int32_t)(bits % (uint32_t)how->rehearsals);
}

/* The variant's guest. On a GPU each has a context, so those of another operator go first. */
static process *find_guest(isolated *i, const assay_variant *variant) {
    int32_t v = 0;
    if (i->how.together)
        return &i->guests[0];
    while (i->variants[v] != variant)
        ++v;
    if (!i->current || strcmp(i->current, variant->op) != 0)
        end_guests(i);
    i->current = variant->op;
    return &i->guests[v];
}

const uint8_t *assay_isolated_edges(const assay_device *device) {
    return find_isolated(device)->edges;
}

void assay_isolated_forget_edges(const assay_device *device) {
    memset(find_isolated(device)->edges, 0, FRAME_EDGES);
}

static void add_edges(isolated *i, const frame_head *h) {
    for (int32_t e = 0; e < FRAME_EDGES; ++e)
        i->edges[e] |= h->edges[e];
}

static assay_status answer(const frame *f, assay_results *got) {
    const frame_head *h = f->head;
    char line[FRAME_LINE];
    memcpy(line, h->line, sizeof line);
    line[sizeof line - 1] = '\0';
    if (!h->answered)
        return assay_fail(ASSAY_ERR_KERNEL, "its process said that it was done, and was not");
    if (h->status != ASSAY_OK)
        return assay_fail_as(h->status, h->failure, "%s", line);
    frame_results(f, got);
    return ASSAY_OK;
}

assay_status assay_run_isolated(const assay_variant *variant, const assay_device *device,
                                const assay_problem *problem, assay_results *got) {
    isolated *i = find_isolated(device);
    process *g = find_guest(i, variant);
    frame f;
    assay_status status =
        frame_init(&f, variant->name, problem, problem->sample ? 0 : rehearsals(&i->how));
    if (status != ASSAY_OK)
        return status;
    if (g->pid == 0)
        status = guest_start(g, i->program, i->base->name, assay_isolated_kernel(device, variant));
    if (status == ASSAY_OK) {
        const double whole = problem->sample ? sample_bytes(problem->sample) : 0;
        status = guest_ask(g, f.file, i->how.seconds + whole / sampled_speed,
                           i->how.gib * (1 << 30) + COPIES * (double)f.bytes + whole);
    }
    add_edges(i, f.head);
    if (status == ASSAY_OK)
        status = answer(&f, got);
    /* After a kernel's fault a process may have lost its device, or hold all of its memory. */
    if (status == ASSAY_ERR_KERNEL || status == ASSAY_ERR_DEVICE || status == ASSAY_ERR_MEMORY)
        process_stop(g);
    frame_clear(&f);
    return status;
}
