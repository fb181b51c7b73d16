/*
 * ptx_random: random programs (random.h) on the simulated device and on a GPU, all output bits
 * compared.
 *   ptx_random FIRST COUNT [PROCESSES] [SECONDS] [FOLDER]
 * A program that differs gets a file in FOLDER, or is printed: as few of its steps as differ, with
 * a first line that says of which kind it is (`kinds`) and which instruction's result differs
 * first. Exit code 1: programs differ that ptxas did not optimize, too. Without a GPU the simulated
 * device runs alone, and the programs' common checksum is printed.
 */
#include "sim/ptx/launch.h"
#include "tests/sim/ptx/forms.h"
#include "tests/sim/ptx/random.h"
#include "tests/sim/ptx/random_gpu.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MODULE = 8 * RANDOM_KERNEL, SHOWN = 400, PLAIN = 0, OPTIMIZED = 4 };

/* What the processes tell each other. */
typedef struct tally {
    _Atomic uint64_t next, done, checksum, kinds[3]; /* kinds: of programs that differ */
} tally;

/* One run of some programs, here and there. */
typedef struct outcome {
    char *text;
    uint64_t *here, *there;
} outcome;

static uint64_t *operands;
static const char *folder; /* of programs that differ; NULL: they are printed */
static time_t end;

/* ---- both devices */

static void check(assay_status status) {
    if (status != ASSAY_OK) {
        fprintf(stderr, "%s\n", assay_error());
        exit(1);
    }
}

static uint64_t *zeros(size_t n) {
    uint64_t *words = calloc(n, sizeof *words);
    if (words == NULL) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    return words;
}

static void run_sim(const char *text, uint64_t *results) {
    const uint32_t one[3] = {1, 1, 1}, block[3] = {RANDOM_THREADS, 1, 1};
    const void *parameters[] = {operands, results};
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

static outcome run(uint64_t first, int32_t count, uint64_t steps, int level) {
    const size_t n = (size_t)count * RANDOM_WORDS;
    outcome o = {.text = random_module(first, count, steps), .here = zeros(n), .there = zeros(n)};
    run_sim(o.text, o.here);
    if (random_gpu())
        random_gpu_run(o.text, count, level, o.there);
    return o;
}

static void forget(outcome *o) {
    free(o->text);
    free(o->here);
    free(o->there);
}

/* The first word that differs, in the order of steps; RANDOM_WORDS when none does. */
static int32_t first_difference(const uint64_t *here, const uint64_t *there) {
    int32_t i = 0;
    while (i < RANDOM_WORDS && here[i] == there[i])
        ++i;
    return i;
}

/* ---- a program that differs */

static bool differs(uint64_t seed, uint64_t steps, int level) {
    outcome o = run(seed, 1, steps, level);
    const bool it_does = first_difference(o.here, o.there) < RANDOM_WORDS;
    forget(&o);
    return it_does;
}

/*
 * optimized: the GPU gives the simulated device's bits when ptxas does not optimize the module.
 * together: it does not, but gives them to the program alone. always: neither.
 */
typedef enum kind { BY_OPTIMIZER, TOGETHER, ALWAYS } kind;
static const char *const kinds[] = {"optimized", "together", "always"};

/* Leaves out what it can. */
static uint64_t fewest_steps(uint64_t seed, int level) {
    uint64_t steps = (UINT64_C(1) << RANDOM_STEPS) - 1;
    for (int32_t i = RANDOM_STEPS; i-- > 0 && time(NULL) < end;)
        if (differs(seed, steps & ~(UINT64_C(1) << i), level))
            steps &= ~(UINT64_C(1) << i);
    return steps;
}

/* A step's instruction: what comes behind its operands. */
static void find_opcode(const char *text, int32_t step, char opcode[64]) {
    static const char *const operand[] = {"//", ".reg", "ld.global", "setp.ne.u32 %a", "mov."};
    char mark[32];
    snprintf(mark, sizeof mark, RANDOM_STEP "%d\n", step);
    const char *at = strstr(text, mark);
    for (size_t i = 0; at != NULL && i < sizeof operand / sizeof operand[0]; ++i)
        if (strncmp(at, operand[i], strlen(operand[i])) == 0) {
            at = strchr(at, '\n') + 1;
            i = SIZE_MAX; /* from the first again */
        }
    if (at != NULL && at[0] == '@')
        at = strchr(at, ' ') + 1;
    snprintf(opcode, 64, "%.*s", at != NULL ? (int)strcspn(at, " ") : 0, at != NULL ? at : "");
}

/* `here` and `there`: its results beside other programs. */
static void show(uint64_t seed, kind k, const uint64_t *here, const uint64_t *there) {
    const int level = k == BY_OPTIMIZER ? OPTIMIZED : PLAIN;
    const bool alone = differs(seed, UINT64_MAX, level);
    outcome o = run(seed, 1, alone ? fewest_steps(seed, level) : UINT64_MAX, level);
    char path[4096], opcode[64];
    if (alone) {
        here = o.here;
        there = o.there;
    }
    const int32_t at = first_difference(here, there), place = at / RANDOM_THREADS;
    find_opcode(o.text, place / RANDOM_RESULTS, opcode);
    snprintf(path, sizeof path, "%s/%" PRIu64 ".ptx", folder != NULL ? folder : "", seed);
    FILE *file = folder != NULL ? fopen(path, "w") : stdout;
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    fprintf(file, "// %s: %s\n", kinds[k], opcode);
    fprintf(file,
            "// seed %" PRIu64 ", thread %d, %%d%d_%d: sim %016" PRIx64 ", gpu %016" PRIx64 "\n",
            seed, at % RANDOM_THREADS, place / RANDOM_RESULTS, place % RANDOM_RESULTS, here[at],
            there[at]);
    fputs(o.text, file);
    if (folder != NULL)
        fclose(file);
    forget(&o);
}

/* ---- all programs */

/* `there`: the module's results, optimized. */
static void judge(uint64_t first, int32_t count, const outcome *o, tally *t) {
    uint64_t *plain = NULL;
    for (int32_t i = 0; i < count; ++i) {
        const size_t at = (size_t)i * RANDOM_WORDS;
        const uint64_t seed = first + (uint64_t)i;
        kind k = BY_OPTIMIZER;
        if (first_difference(o->here + at, o->there + at) == RANDOM_WORDS)
            continue;
        if (plain == NULL) {
            plain = zeros((size_t)count * RANDOM_WORDS);
            random_gpu_run(o->text, count, PLAIN, plain);
        }
        if (first_difference(o->here + at, plain + at) < RANDOM_WORDS)
            k = differs(seed, UINT64_MAX, PLAIN) ? ALWAYS : TOGETHER;
        if (t->kinds[k]++ < SHOWN)
            show(seed, k, o->here + at, k == BY_OPTIMIZER ? o->there + at : plain + at);
    }
    free(plain);
}

static void run_module(uint64_t first, int32_t count, tally *t) {
    outcome o = run(first, count, UINT64_MAX, OPTIMIZED);
    for (int32_t i = 0; i < count; ++i)
        t->checksum += random_checksum(o.here + (size_t)i * RANDOM_WORDS);
    if (random_gpu())
        judge(first, count, &o, t);
    t->done += (uint64_t)count;
    fflush(stdout);
    forget(&o);
}

static void work(int32_t number, uint64_t first, uint64_t count, tally *t) {
    char cache[] = "/tmp/ptx-random-XXXXXX", remove[64];
    uint64_t at;
    operands = zeros((size_t)FORM_CLASSES * FORM_OPERANDS * FORM_TUPLES);
    if (mkdtemp(cache) == NULL) {
        perror(cache);
        exit(1);
    }
    setenv("XDG_CACHE_HOME", cache, 1); /* no program comes twice */
    snprintf(remove, sizeof remove, "rm -rf %s/assay", cache);
    forms_operands(operands);
    if (random_gpu())
        random_gpu_open(number, operands, MODULE);
    while (time(NULL) < end && (at = atomic_fetch_add(&t->next, MODULE)) < count) {
        run_module(first + at, count - at < MODULE ? (int32_t)(count - at) : MODULE, t);
        if (system(remove) != 0)
            exit(1);
    }
    rmdir(cache);
    free(operands);
    exit(0);
}

int main(int n, char **arguments) {
    const uint64_t first = n > 1 ? strtoull(arguments[1], NULL, 10) : 0;
    const uint64_t count = n > 2 ? strtoull(arguments[2], NULL, 10) : MODULE;
    const long processes = n > 3 ? strtol(arguments[3], NULL, 10) : sysconf(_SC_NPROCESSORS_ONLN);
    tally *t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status, failed = 0;
    end = time(NULL) + (n > 4 ? strtol(arguments[4], NULL, 10) : 1 << 30);
    folder = n > 5 ? arguments[5] : NULL;
    if (t == MAP_FAILED)
        return 1;
    for (int32_t i = 0; i < processes; ++i)
        if (fork() == 0)
            work(i, first, count, t);
    while (wait(&status) > 0)
        failed |= status;
    printf("%" PRIu64 " programs from seed %" PRIu64 " on: ", t->done, first);
    if (random_gpu())
        printf("%" PRIu64 " differ, %" PRIu64 " more as ptxas optimizes them; ",
               t->kinds[ALWAYS] + t->kinds[TOGETHER], t->kinds[BY_OPTIMIZER]);
    printf("checksum %016" PRIx64 "%s\n", t->checksum, failed != 0 ? "; a process failed" : "");
    return failed != 0 || t->kinds[ALWAYS] + t->kinds[TOGETHER] != 0;
}
