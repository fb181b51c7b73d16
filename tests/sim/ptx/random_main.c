/*
 * ptx_random: random programs (random.h) on the simulated device and on a GPU, all output bits
 * compared. Of those that differ it prints the seed, the PTX up to the first step that differs, and
 * both values.
 *   ptx_random FIRST COUNT [PROCESSES] [SECONDS]
 * Without a GPU it runs the simulated device alone, and prints the programs' common checksum.
 */
#include "sim/ptx/launch.h"
#include "tests/sim/ptx/forms.h"
#include "tests/sim/ptx/random.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MODULE = 8 * RANDOM_KERNEL, SHOWN = 400, WORD = sizeof(uint64_t) };

static const size_t operand_words = (size_t)FORM_CLASSES * FORM_OPERANDS * FORM_TUPLES;

/* What the processes tell each other. */
typedef struct tally {
    _Atomic uint64_t next, done, differing, worst, checksum;
} tally;

typedef struct device {
    bool gpu;
    uint64_t *operands, in, out; /* in, out: the GPU's addresses */
} device;

/* ---- the GPU */

static void *driver;

static int call_failed(const char *name, int error) {
    fprintf(stderr, "%s: error %d\n", name, error);
    exit(1);
}

/* Calls a function of the driver; ends the program when that fails. */
#define CALL(name, types, ...)                                                                     \
    do {                                                                                           \
        int(*function) types;                                                                      \
        void *address = dlsym(driver, #name);                                                      \
        memcpy(&function, &address, sizeof function);                                              \
        const int error = address == NULL ? -1 : function(__VA_ARGS__);                            \
        if (error != 0)                                                                            \
            call_failed(#name, error);                                                             \
    } while (0)

static void open_gpu(device *d) {
    void *context;
    int number;
    CALL(cuInit, (unsigned), 0);
    CALL(cuDeviceGet, (int *, int), &number, 0);
    CALL(cuCtxCreate_v2, (void **, unsigned, int), &context, 0, number);
    CALL(cuMemAlloc_v2, (uint64_t *, size_t), &d->in, operand_words * WORD);
    CALL(cuMemAlloc_v2, (uint64_t *, size_t), &d->out, (size_t)MODULE * RANDOM_WORDS * WORD);
    CALL(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t), d->in, d->operands,
         operand_words * WORD);
}

static void run_gpu(const device *d, const char *text, int32_t count, uint64_t *results) {
    void *module, *kernel;
    uint64_t in = d->in, out = d->out;
    void *parameters[] = {&in, &out};
    CALL(cuModuleLoadData, (void **, const void *), &module, text);
    CALL(cuMemsetD8_v2, (uint64_t, unsigned char, size_t), out, 0,
         (size_t)count * RANDOM_WORDS * WORD);
    for (int32_t i = 0; i * RANDOM_KERNEL < count; ++i) {
        char name[16];
        snprintf(name, sizeof name, "k%d", i);
        CALL(cuModuleGetFunction, (void **, void *, const char *), &kernel, module, name);
        CALL(cuLaunchKernel,
             (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
              void **, void **),
             kernel, 1, 1, 1, RANDOM_THREADS, 1, 1, 0, NULL, parameters, NULL);
    }
    CALL(cuMemcpyDtoH_v2, (void *, uint64_t, size_t), results, out,
         (size_t)count * RANDOM_WORDS * WORD);
    CALL(cuModuleUnload, (void *), module);
}

/* ---- the simulated device */

static void check(assay_status status) {
    if (status != ASSAY_OK) {
        fprintf(stderr, "%s\n", assay_error());
        exit(1);
    }
}

static void run_sim(const device *d, const char *text, uint64_t *results) {
    const uint32_t one[3] = {1, 1, 1}, block[3] = {RANDOM_THREADS, 1, 1};
    const void *parameters[] = {d->operands, results};
    const ptx_function *kernel;
    ptx_module *module;
    check(ptx_module_load(text, strlen(text), "random", &module));
    const ptx_unknown *unknown = ptx_module_unknown(module, 0);
    if (unknown != NULL) {
        fprintf(stderr, "%d: %s is not known\n", unknown->line, unknown->opcode);
        exit(1);
    }
    for (int32_t i = 0; (kernel = ptx_module_kernel(module, i)) != NULL; ++i)
        check(ptx_launch(kernel, one, block, one, 0, parameters));
    ptx_module_free(module);
}

/* ---- both */

static uint64_t *zeros(size_t n) {
    uint64_t *words = calloc(n, WORD);
    if (words == NULL)
        call_failed("memory", 0);
    return words;
}

/* The first word that differs, in the order of steps; RANDOM_WORDS when none does. */
static int32_t first_difference(const uint64_t *here, const uint64_t *there) {
    int32_t i = 0;
    while (i < RANDOM_WORDS && here[i] == there[i])
        ++i;
    return i;
}

/* The text of a step, up to the next. */
static void show_step(const char *text, int32_t step) {
    char mark[32];
    snprintf(mark, sizeof mark, RANDOM_STEP "%d\n", step);
    const char *from = strstr(text, mark), *to = NULL;
    if (from != NULL)
        to = strstr(from + 1, RANDOM_STEP);
    if (from != NULL)
        printf("%.*s", (int)(to != NULL ? to - from : (long)strlen(from)), from);
}

/*
 * The steps up to the first that differs, with the values of one thread for which it does. Values
 * of inputs are not printed: forms_operands() has them.
 */
static void show(uint64_t seed, const uint64_t *here, const uint64_t *there) {
    const int32_t at = first_difference(here, there), thread = at % RANDOM_THREADS;
    const int32_t last = at / RANDOM_THREADS / RANDOM_RESULTS;
    char *text = random_module(seed, 1, UINT64_MAX);
    printf("seed %" PRIu64 ", step %d, thread %d:\n", seed, last, thread);
    for (int32_t step = 0; step <= last; ++step) {
        show_step(text, step);
        for (int32_t k = 0; k < RANDOM_RESULTS; ++k) {
            const int32_t i = (step * RANDOM_RESULTS + k) * RANDOM_THREADS + thread;
            printf("  %%d%d_%d sim %016" PRIx64 " gpu %016" PRIx64 "\n", step, k, here[i],
                   there[i]);
        }
    }
    free(text);
}

static void run_module(const device *d, uint64_t first, int32_t count, tally *t) {
    const size_t n = (size_t)count * RANDOM_WORDS;
    uint64_t *here = zeros(n), *there = zeros(n);
    char *text = random_module(first, count, UINT64_MAX);
    run_sim(d, text, here);
    if (d->gpu)
        run_gpu(d, text, count, there);
    for (int32_t i = 0; i < count; ++i) {
        const size_t at = (size_t)i * RANDOM_WORDS;
        t->checksum += random_checksum(here + at);
        if (d->gpu && first_difference(here + at, there + at) < RANDOM_WORDS &&
            t->differing++ < SHOWN)
            show(first + (uint64_t)i, here + at, there + at);
    }
    t->done += (uint64_t)count;
    fflush(stdout);
    free(text);
    free(here);
    free(there);
}

static void work(uint64_t first, uint64_t count, time_t end, tally *t) {
    char folder[] = "/tmp/ptx-random-XXXXXX", remove[64];
    device d = {.gpu = driver != NULL, .operands = zeros(operand_words)};
    uint64_t at;
    if (mkdtemp(folder) == NULL)
        call_failed("mkdtemp", 0);
    setenv("XDG_CACHE_HOME", folder, 1); /* no program comes twice */
    snprintf(remove, sizeof remove, "rm -rf %s/assay", folder);
    forms_operands(d.operands);
    if (d.gpu)
        open_gpu(&d);
    while (time(NULL) < end && (at = atomic_fetch_add(&t->next, MODULE)) < count) {
        run_module(&d, first + at, count - at < MODULE ? (int32_t)(count - at) : MODULE, t);
        if (system(remove) != 0)
            call_failed(remove, 0);
    }
    rmdir(folder);
    free(d.operands);
    exit(0);
}

int main(int n, char **arguments) {
    const uint64_t first = n > 1 ? strtoull(arguments[1], NULL, 10) : 0;
    const uint64_t count = n > 2 ? strtoull(arguments[2], NULL, 10) : MODULE;
    const long processes = n > 3 ? strtol(arguments[3], NULL, 10) : sysconf(_SC_NPROCESSORS_ONLN);
    const time_t end = time(NULL) + (n > 4 ? strtol(arguments[4], NULL, 10) : 1 << 30);
    tally *t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status, failed = 0;
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (t == MAP_FAILED)
        return 1;
    for (long i = 0; i < processes; ++i)
        if (fork() == 0)
            work(first, count, end, t);
    while (wait(&status) > 0)
        failed |= status;
    printf("%" PRIu64 " programs from seed %" PRIu64 " on: ", t->done, first);
    if (driver != NULL)
        printf("%" PRIu64 " differ", t->differing);
    printf("%schecksum %016" PRIx64 "%s\n", driver != NULL ? "; " : "", t->checksum,
           failed != 0 ? "; a process failed" : "");
    return failed != 0 || t->differing != 0;
}
