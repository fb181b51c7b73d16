#include "engine/isolate.h"
#include "core/place.h"
#include "engine/frame.h"
#include "engine/guest.h"
#include "engine/kernel_file.h"
#include "engine/rehearse.h"

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
    assay_device device; /* callers hold its address: as the first member it has this one's */
    const assay_device *base;
    const assay_device *recorder; /* NULL: none */
    assay_isolation how;
    char program[PATH_MAX], kernel_program[PATH_MAX], script[PATH_MAX];
    kernel_file kernel;
    assay_variant stranger; /* stands for the kernel file's variant */
    const assay_variant **variants;
    process *guests;     /* started when first asked: by variant, see find_guest(); or the first */
    process shared;      /* which others ask, too */
    const char *current; /* the operator that has guests on a GPU */
    sandbox_walls walls; /* that all of them had */
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

static assay_status find_program(const char *wanted, const char *name, char path[PATH_MAX]) {
    const assay_status status = wanted ? ASSAY_OK : assay_place(name, path);
    if (status != ASSAY_OK)
        return status;
    if (wanted)
        snprintf(path, PATH_MAX, "%s", wanted);
    if (access(path, X_OK) == 0)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_FILE,
                      "%.200s, which runs variants, is not there: build the target %s", path, name);
}

/* The library that an interpreter loads, and the script that does so. */
static assay_status find_python(isolated *i) {
    assay_status status = assay_place("libassay_python.so", i->kernel_program);
    if (status == ASSAY_OK)
        status = assay_place("python/guest.py", i->script);
    if (status != ASSAY_OK || access(i->kernel_program, R_OK) == 0)
        return status;
    return assay_fail(ASSAY_ERR_UNSUPPORTED,
                      "%.200s, which Python's functions need, is not there: build the target "
                      "assay_python",
                      i->kernel_program);
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

static assay_status open_kernel(isolated *i) {
    char symbol[KERNEL_SYMBOL];
    const assay_isolation *how = &i->how;
    kernel_file_symbol(how->op, how->variant, i->base->name, symbol);
    const assay_status status = kernel_file_open(&i->kernel, how->kernel);
    if (how->binding)
        return status; /* the guest finds its functions, or says which is missing */
    return status == ASSAY_OK ? kernel_file_names(&i->kernel, how->kernel, symbol) : status;
}

/* Every access is a call there. What a variant leaves behind for the next one is of no use to it:
 * numbers are taken from elsewhere. */
static assay_status open_recorder(isolated *i) {
    static const double slowness = 20;
    return assay_isolate(i->base,
                         &(assay_isolation){.guest = i->how.recorded,
                                            .seconds = slowness * i->how.seconds,
                                            .gib = i->how.gib,
                                            .open = i->how.open,
                                            .together = true},
                         &i->recorder);
}

assay_status assay_isolate(const assay_device *device, const assay_isolation *how,
                           const assay_device **made) {
    *made = NULL;
    isolated *i = calloc(1, sizeof *i);
    if (!i)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for the device %s", device->name);
    i->device = *device;
    i->device.finish = finish_isolated;
    i->base = device;
    i->how = *how;
    i->walls = ~0u;
    if (how->shared_pid > 0)
        process_borrow(&i->shared, how->shared_pid, how->shared_channel);
    sandbox_hide();
    assay_status status = find_program(how->guest, "assay_guest", i->program);
    if (status == ASSAY_OK && how->python)
        status = find_python(i);
    else if (status == ASSAY_OK && how->kernel)
        status = find_program(how->guest, "assay_kernel_guest", i->kernel_program);
    if (status == ASSAY_OK && how->kernel)
        status = open_kernel(i);
    if (status == ASSAY_OK)
        status = list_variants(i);
    if (status == ASSAY_OK && how->recorded && device->simulated)
        status = open_recorder(i);
    if (status == ASSAY_OK)
        *made = &i->device;
    else
        assay_isolate_end(&i->device);
    return status;
}

assay_status assay_isolate_shared(const char *device, const assay_isolation *how, process *guest) {
    char program[PATH_MAX];
    sandbox_walls walls;
    sandbox_hide();
    const assay_status status = find_program(how->guest, "assay_guest", program);
    return status == ASSAY_OK
               ? guest_start(guest,
                             &(guest_plan){.program = program, .device = device, .open = how->open},
                             &walls)
               : status;
}

static void end_guests(isolated *i) {
    process_stop(&i->shared);
    for (int32_t v = 0; i->guests && v < i->device.n_variants; ++v)
        process_stop(&i->guests[v]);
}

void assay_isolate_end(const assay_device *device) {
    isolated *i = device ? find_isolated(device) : NULL;
    if (!i)
        return;
    end_guests(i);
    assay_isolate_end(i->recorder);
    kernel_file_close(&i->kernel);
    free(i->guests);
    free(i->variants);
    free(i);
}

const assay_device *assay_isolated_base(const assay_device *device) {
    const isolated *i = find_isolated(device);
    return i ? i->base : device;
}

const assay_device *assay_isolated_recorder(const assay_device *device) {
    const isolated *i = find_isolated(device);
    return i ? i->recorder : NULL;
}

bool assay_isolated_recorder_always(const assay_device *device) {
    return find_isolated(device)->how.recorded_always;
}

const char *assay_isolated_kernel(const assay_device *device, const assay_variant *variant) {
    const isolated *i = find_isolated(device);
    return i && variant == &i->stranger ? i->how.kernel : NULL;
}

/* The walls that all guests had. */
static assay_status start(isolated *i, process *guest, const assay_variant *variant) {
    sandbox_walls walls = 0;
    const assay_status status =
        guest_start(guest,
                    &(guest_plan){.program = assay_isolated_program(&i->device, variant),
                                  .device = i->base->name,
                                  .python = variant == &i->stranger ? i->how.python : NULL,
                                  .script = i->script,
                                  .kernel = variant == &i->stranger ? i->kernel.loaded : NULL,
                                  .binding = variant == &i->stranger ? i->how.binding : NULL,
                                  .open = i->how.open},
                    &walls);
    if (status == ASSAY_OK)
        i->walls &= walls;
    return status;
}

assay_status assay_isolated_walls(const assay_device *device, sandbox_walls *walls) {
    isolated *i = find_isolated(device);
    process probe = {0};
    assay_status status = ASSAY_OK;
    if (i->walls == ~0u) { /* none has been started yet */
        status = start(i, &probe, i->variants[0]);
        process_stop(&probe);
    }
    *walls = status == ASSAY_OK ? i->walls : 0;
    return status;
}

assay_status assay_isolated_load(const assay_device *device) {
    isolated *i = find_isolated(device);
    process probe = {0};
    char line[FRAME_LINE];
    if (!i || !i->how.kernel || i->how.python)
        return ASSAY_OK;
    assay_status status = start(i, &probe, &i->stranger);
    if (status == ASSAY_OK)
        status = guest_load(&probe, i->how.seconds, i->how.gib * (1 << 30));
    process_stop(&probe);
    if (status == ASSAY_OK)
        return ASSAY_OK;
    snprintf(line, sizeof line, "%s", assay_error());
    return assay_fail(status, "%.300s: %s", assay_isolated_source(device, &i->stranger), line);
}

const char *assay_isolated_kernel_hash(const assay_device *device) {
    const isolated *i = find_isolated(device);
    return i->kernel.n_parts > 0 ? i->kernel.hash : NULL;
}

const char *assay_isolated_kernel_loaded(const assay_device *device) {
    const isolated *i = find_isolated(device);
    return i->kernel.n_parts > 0 ? i->kernel.loaded : NULL;
}

const char *assay_isolated_source(const assay_device *device, const assay_variant *variant) {
    const isolated *i = find_isolated(device);
    const char *kernel = assay_isolated_kernel(device, variant);
    return kernel && i->how.source ? i->how.source : kernel;
}

const char *assay_isolated_program(const assay_device *device, const assay_variant *variant) {
    const isolated *i = find_isolated(device);
    return variant == &i->stranger ? i->kernel_program : i->program;
}

static int32_t rehearsals(const assay_isolation *how) {
    uint32_t bits;
    if (!how->surprise || how->rehearsals <= 1 || getrandom(&bits, sizeof bits, 0) != sizeof bits)
        return how->rehearsals;
    return 1 + (int32_t)(bits % (uint32_t)how->rehearsals);
}

/* Whether two variants may be run by one guest, one after the other: those of different operators,
 * of which neither computes what the other does. The kernel file's has been loaded by its own. */
static bool share_guest(const isolated *i, const assay_variant *a, const assay_variant *b) {
    return a == b || (a != &i->stranger && b != &i->stranger && strcmp(a->name, b->name) == 0);
}

/* The variant's guest. On a GPU each has a context, so those of another operator go first. */
static process *find_guest(isolated *i, const assay_variant *variant) {
    int32_t v = 0;
    if (i->how.together)
        return &i->guests[0];
    if (!i->base->simulated && (!i->current || strcmp(i->current, variant->op) != 0))
        end_guests(i);
    i->current = variant->op;
    while (
        !(i->base->simulated ? share_guest(i, i->variants[v], variant) : i->variants[v] == variant))
        ++v;
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

/* One run in the guest: how it is asked, and the limits of an answer. */
typedef struct conversation {
    isolated *i;
    process *guest;
    frame frame;
    double seconds, bytes;
} conversation;

static assay_status ask(conversation *c, char word) {
    c->frame.head->answered = 0;
    assay_status status =
        guest_ask(c->guest, word, word == FRAME_OFFER ? c->frame.file : -1, c->seconds, c->bytes);
    add_edges(c->i, c->frame.head);
    return status == ASSAY_OK ? frame_answer(&c->frame) : status;
}

/* Which runs are rehearsals is known here alone: the guest gets data, and is asked to run. The last
 * of several has data that are nearly those to come. */
static assay_status rehearse(conversation *c, const assay_problem *problem, int32_t count) {
    assay_status status = ASSAY_OK;
    assay_rng rng = {.seed = problem->c.seed, .stream = assay_rng_stream("rehearsal")};
    if (c->i->how.surprise && getrandom(&rng.seed, sizeof rng.seed, 0) != sizeof rng.seed)
        return assay_fail(ASSAY_ERR_FILE, "the system has no random numbers for rehearsals");
    for (int32_t r = 0; status == ASSAY_OK && r < count; ++r) {
        frame_fill(&c->frame, problem, r > 0 && r + 1 == count ? rehearse_touch : rehearse_scramble,
                   &rng);
        status = ask(c, FRAME_RUN);
    }
    return status;
}

/* A variant that has the data can decline no more. Where the problem stands for a whole, a device
 * that cannot hold that is no fault of the variant's. */
static assay_status not_declined(const conversation *c, const assay_problem *p,
                                 assay_status status) {
    char line[FRAME_LINE];
    if (status != ASSAY_ERR_UNSUPPORTED || (p->sample && !c->i->base->simulated))
        return status;
    snprintf(line, sizeof line, "%s", assay_error());
    return assay_fail(ASSAY_ERR_KERNEL,
                      "declined when it had the data; that is for supports(), by shape: %s", line);
}

/* `got` NULL: the variant is asked whether it supports the problem, and no more. */
static assay_status converse(conversation *c, const assay_problem *problem, int32_t count,
                             assay_results *got) {
    assay_status status = ask(c, FRAME_OFFER);
    if (status != ASSAY_OK || !got)
        return status;
    status = rehearse(c, problem, count);
    if (status == ASSAY_OK) {
        frame_fill(&c->frame, problem, NULL, NULL);
        status = ask(c, FRAME_RUN);
    }
    if (status == ASSAY_OK)
        frame_results(&c->frame, got);
    return not_declined(c, problem, status);
}

static assay_status ask_one(isolated *i, process *guest, const assay_variant *variant,
                            const assay_problem *problem, assay_results *got) {
    const bool rehearsed = !problem->sample && !(got && got->again);
    const int32_t count = rehearsed ? rehearsals(&i->how) : 0;
    const double whole = problem->sample ? sample_bytes(problem->sample) : 0;
    conversation c = {.i = i, .guest = guest, .seconds = i->how.seconds + whole / sampled_speed};
    assay_status status = frame_init(&c.frame, variant->name, problem, count > 0);
    if (status != ASSAY_OK)
        return status;
    c.frame.head->keep_memory = i->how.together;
    c.bytes = i->how.gib * (1 << 30) + COPIES * (double)c.frame.bytes + whole;
    if (c.guest->pid == 0)
        status = start(i, c.guest, variant);
    if (status == ASSAY_OK)
        status = converse(&c, problem, count, got);
    /* After a kernel's fault a process may have lost its device, or hold all of its memory. */
    if (!guest->borrowed &&
        (status == ASSAY_ERR_KERNEL || status == ASSAY_ERR_DEVICE || status == ASSAY_ERR_MEMORY))
        process_stop(c.guest);
    else
        (void)process_send(c.guest, &(char){FRAME_END}, 1, -1);
    frame_clear(&c.frame);
    return status;
}

static assay_status ask_guest(const assay_variant *variant, const assay_device *device,
                              const assay_problem *problem, assay_results *got) {
    isolated *i = find_isolated(device);
    if (i->shared.pid > 0 && variant != &i->stranger) {
        const assay_status status = ask_one(i, &i->shared, variant, problem, got);
        if (i->shared.pid > 0 && status != ASSAY_ERR_DEVICE && status != ASSAY_ERR_MEMORY)
            return status;
    }
    return ask_one(i, find_guest(i, variant), variant, problem, got);
}

assay_status assay_supports_isolated(const assay_variant *variant, const assay_device *device,
                                     const assay_problem *problem) {
    return ask_guest(variant, device, problem, NULL);
}

assay_status assay_run_isolated(const assay_variant *variant, const assay_device *device,
                                const assay_problem *problem, assay_results *got) {
    return ask_guest(variant, device, problem, got);
}
