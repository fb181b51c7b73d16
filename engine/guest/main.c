/*
 * assay_guest sandbox|open DEVICE [KERNEL.so [BINDING]]: runs variants for the check engine, in a
 * process of their own (engine/isolate.h). It holds no oracle. Work comes as frames through the
 * socket PROCESS_CHANNEL; it ends when that is closed.
 */
#include "assay/device.h"
#include "core/place.h"
#include "engine/foreign.h"
#include "engine/frame.h"
#include "engine/guest.h"
#include "engine/guest/guest_main.h"
#include "engine/guest/recycle.h"
#include "engine/inside.h"
#include "engine/process/process.h"
#include "engine/runner.h"
#include "engine/sandbox/sandbox.h"
#include "sim/sim.h"
/* A kernel file's process has that file's variant alone, and an interpreter has a function. */
#if defined(ASSAY_NO_VARIANTS) && !defined(ASSAY_PYTHON_GUEST)
#define WITH_CUDA_RUNTIME
#include "sim/exec/device.h"
#include "sim/ptx/launch.h"
#endif

#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(ASSAY_PYTHON_GUEST)
#define CUDA_MODULE "libassay_cuda_alone.so"
#define OPEN_DEVICE assay_device_open_alone
#else
#define CUDA_MODULE "libassay_cuda.so"
#define OPEN_DEVICE assay_device_open_bare
#endif

/* Devices' tables name their oracles; here there are none. */
const assay_device_oracle *const assay_sim_oracles[] = {NULL};
const int32_t assay_sim_n_oracles = 0;
#if defined(ASSAY_NO_VARIANTS)
const assay_variant *const assay_sim_variants[] = {NULL};
const int32_t assay_sim_n_variants = 0;
#endif

#if defined(WITH_CUDA_RUNTIME)
static const assay_device *for_kernel_files(const assay_device *device) {
    return device->simulated ? exec_device(device) : device;
}
static const char *prepared_kernels(void) {
    return getenv(PTX_PREPARED_VARIABLE);
}
#else
static const assay_device *for_kernel_files(const assay_device *device) {
    return device;
}
static const char *prepared_kernels(void) {
    return NULL;
}
#endif

static bool say(int channel, const char *word) {
    return channel_send(channel, word, strlen(word), -1);
}

/* ---- one frame ---- */

/* The problem that is asked about; runs of it may follow. */
typedef struct problem {
    frame frame;
    bool open;
    const assay_device *device; /* which keeps its tensors' places from run to run, if wanted */
} problem;

/* Those who ask through one channel, and what they asked about. */
typedef struct service {
    int channel;
    bool shared; /* others ask this process, too */
    const assay_device *device;
    const inside_kernel *kernel;
    problem problem;
} service;

static void end(problem *p) {
    recycle_end();
    if (p->open)
        frame_clear(&p->frame);
    p->open = false;
}

/* Before its first run, for its device has no memory in use then. */
static void keep_memory(const assay_device *device) {
    static bool done;
    if (!done && device->keep_memory)
        device->keep_memory();
    done = true;
}

static bool begin(problem *p, const assay_device *device, int file) {
    end(p);
    p->open = frame_open(&p->frame, file) == ASSAY_OK;
    if (p->open && p->frame.head->keep_memory)
        keep_memory(device);
    p->device = p->open && p->frame.head->same_places ? recycle_begin(device) : device;
    return p->open;
}

/* A question to the variant: whether it supports the problem, before there are any data; a run. */
typedef assay_status (*question)(const problem *p, const assay_variant *variant);

static assay_status support(const problem *p, const assay_variant *variant) {
    return assay_supports(variant, p->device, &p->frame.problem);
}

static assay_status execute(const problem *p, const assay_variant *variant) {
    recycle_rewind();
    assay_results got = p->frame.results;
    const assay_status status = assay_run(variant, p->device, &p->frame.problem, &got);
    p->frame.head->any_order = got.any_order;
    return status;
}

/* After a kernel's fault every later call fails. Whose kernel it was is not known here: all who ask
 * see this process end, and ask another one, each for itself. */
static void end_if_lost(const service *s, assay_status status) {
    const bool may_be = status == ASSAY_ERR_KERNEL || status == ASSAY_ERR_DEVICE;
    if (s->shared && may_be && !s->device->simulated && s->device->finish() != ASSAY_OK)
        _exit(3);
}

static bool answer(service *s, question ask) {
    const problem *p = &s->problem;
    frame_head *h = p->frame.head;
    const assay_variant *variant;
    if (s->kernel->file)
        foreign_describe(&p->frame.problem.sig);
    assay_status status = inside_find_variant(p->device, s->kernel, h->op, h->variant, &variant);
    if (status == ASSAY_OK)
        status = ask(p, variant);
#if defined(ASSAY_COVERAGE)
    sim_coverage_take(h->edges, FRAME_EDGES);
#endif
    h->status = status;
    h->failure = assay_error_failure();
    snprintf(h->line, sizeof h->line, "%s", status == ASSAY_OK ? "" : assay_error());
    h->answered = 1;
    end_if_lost(s, status);
    return say(s->channel, "done");
}

/* The file's defects are told before there is a problem. */
static bool load(const service *s) {
    const assay_status status = inside_try(s->device, s->kernel);
    return say(s->channel, status == ASSAY_OK ? "done" : assay_error());
}

static bool share(const service *s, int channel);

/* Whether to go on. */
static bool obey(service *s, char word, int file) {
    problem *p = &s->problem;
    switch (word) {
    case FRAME_LOAD:
        return load(s);
    case FRAME_SHARE:
        return share(s, file) && say(s->channel, "done");
    case FRAME_OFFER:
        return begin(p, s->device, file) && answer(s, support);
    case FRAME_RUN:
        return p->open && answer(s, execute);
    case FRAME_END:
        end(p);
        return true;
    }
    return false;
}

/* False: it was asked something that it cannot do, and not that there is nothing more to do. */
static bool serve(service *s) {
    /* A device without threads answers one question after the other. */
    static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    const bool in_turn = s->shared && !s->device->begin_thread;
    bool good = true;
    char word;
    for (int file; good && channel_receive(s->channel, &word, 1, &file) == 1;) {
        if (in_turn)
            (void)pthread_mutex_lock(&turn);
        good = obey(s, word, file);
        if (in_turn)
            (void)pthread_mutex_unlock(&turn);
    }
    return good;
}

/* ---- those who share it ---- */

static void *serve_apart(void *argument) {
    service *s = argument;
    assay_status status = s->device->begin_thread ? s->device->begin_thread() : ASSAY_OK;
    if (status == ASSAY_OK)
        (void)serve(s);
    (void)close(s->channel); /* the process that asks through it reads its end */
    end(&s->problem);
    free(s);
    return NULL;
}

/* A thread for a further channel, which it takes over. */
static bool share(const service *with, int channel) {
    pthread_t thread;
    service *s = calloc(1, sizeof *s);
    if (!s || channel < 0)
        return false;
    *s = (service){
        .channel = channel, .shared = true, .device = with->device, .kernel = with->kernel};
    keep_memory(s->device);
    if (pthread_create(&thread, NULL, serve_apart, s) != 0) {
        free(s);
        return false;
    }
    (void)pthread_detach(thread);
    return true;
}

/* ---- before any kernel is loaded ---- */

/* Libraries may have started threads before main(), OpenBLAS for one, and a copy of this process
 * in another process namespace would wait for them forever. */
static bool one_thread(void) {
    int tasks = 0;
    DIR *const folder = opendir("/proc/self/task");
    if (!folder)
        return false;
    for (const struct dirent *d = readdir(folder); d; d = readdir(folder))
        tasks += d->d_name[0] != '.';
    closedir(folder);
    return tasks == 1;
}

/* This program from its beginning, told in the words of libraries to start none. */
static void start_without_threads(char **argv) {
    static const char *const counts[] = {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS",
                                         "MKL_NUM_THREADS", "BLIS_NUM_THREADS"};
    const char *const now = getenv(counts[0]);
    if (one_thread() || (now && strcmp(now, "1") == 0))
        return;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i)
        if (setenv(counts[i], "1", 1) != 0)
            return;
    (void)execv("/proc/self/exe", argv);
}

static void say_moved(int pid) {
    char word[32];
    snprintf(word, sizeof word, "%c%d", GUEST_MOVED, pid);
    (void)say(PROCESS_CHANNEL, word);
}

static bool say_ready(sandbox_walls walls) {
    char word[SANDBOX_TEXT + 1] = {GUEST_READY}, text[SANDBOX_TEXT];
    strcat(word, sandbox_text(walls, text));
    return say(PROCESS_CHANNEL, word);
}

static sandbox_walls enter(const char *device, const char *const *readable) {
    static char own[PATH_MAX], root[PATH_MAX], list[PATH_MAX], module[PATH_MAX];
    sandbox_plan plan = {
        .simulated = strcmp(device, "sim") == 0,
#if defined(ASSAY_RECORDED_GUEST) /* addr2line */
        .may_start = true,
#endif
        .alone = one_thread(),
        .compiles = readable != NULL,
    };
    plan.may_start = plan.may_start || plan.compiles;
    int n = 0;
    /* Its own file says where shared memory lies, the tree's list where the module does. */
    if (readlink("/proc/self/exe", own, sizeof own - 1) > 0)
        plan.file[n++] = own;
    if (!plan.simulated && assay_place(CUDA_MODULE, module) == ASSAY_OK &&
        assay_place_tree(root, list) == ASSAY_OK && setenv("ASSAY_TREE", root, 1) == 0) {
        plan.file[n++] = module;
        if (list[0] != '\0')
            plan.file[n++] = list;
    }
    plan.file[n] = prepared_kernels();
    n += plan.file[n] != NULL;
    for (; readable && *readable && n < SANDBOX_FILES; ++readable)
        plan.file[n++] = *readable;
    return sandbox_enter(&plan, say_moved);
}

int guest_main(int argc, char **argv, const char *const *readable) {
    const assay_device *device;
    if (argc < 3 || argc > 5) {
        fprintf(stderr, "assay_guest is started by assay: see assay help check\n");
        return 2;
    }
    const bool open = strcmp(argv[1], "open") == 0;
    if (!open && !readable)
        start_without_threads(argv);
    inside_settle();
    const sandbox_walls walls = open ? 0 : enter(argv[2], readable);
    if (OPEN_DEVICE(argv[2], &device) != ASSAY_OK)
        return say(PROCESS_CHANNEL, assay_error()) ? 3 : 2;
    device = for_kernel_files(device);
    if (!say_ready(walls))
        return 2;
    const inside_kernel kernel = {.file = argc > 3 ? argv[3] : NULL,
                                  .binding = argc > 4 ? argv[4] : NULL};
    service s = {.channel = PROCESS_CHANNEL, .device = device, .kernel = &kernel};
    if (serve(&s))
        return 0;
    fprintf(stderr, "%s\n", assay_error());
    return 3;
}

#if !defined(ASSAY_PYTHON_GUEST)
int main(int argc, char **argv) {
    return guest_main(argc, argv, NULL);
}
#endif
