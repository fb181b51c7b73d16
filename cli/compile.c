#include "cli/compile.h"

#include "cli/cli.h"
#include "cli/state.h"
#include "cli/text_file.h"
#include "core/place.h"
#include "engine/process/process.h"
#include "sim/asan.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 128, MOST = 16 << 20, NOT_FOUND = 127 };

/* A command as it is built: words that `text` holds, and others that outlive it. */
typedef struct command {
    char *word[WORDS + 1];
    int count;
    char *split; /* of a variable, at blanks */
    char include[PATH_MAX + 2], own[PATH_MAX + 2], section[PATH_MAX + 64];
    char architecture[64];
} command;

static void add(command *c, const char *word) {
    if (c->count < WORDS)
        c->word[c->count++] = (char *)word;
}

static assay_status add_variable(command *c, const char *name) {
    const char *value = getenv(name);
    char *rest;
    if (value == NULL)
        return ASSAY_OK;
    c->split = strdup(value);
    if (c->split == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for $%s", name);
    for (char *word = strtok_r(c->split, " \t", &rest); word != NULL;
         word = strtok_r(NULL, " \t", &rest))
        add(c, word);
    return ASSAY_OK;
}

static const char *or_else(const char *variable, const char *otherwise) {
    const char *value = getenv(variable);
    return value != NULL && *value != '\0' ? value : otherwise;
}

/* `own`: the folder of those that are only for files of that kind. */
static assay_status find_headers(command *c, const char *own) {
    char path[PATH_MAX];
    assay_status status = assay_place("include", path);
    if (status == ASSAY_OK) {
        snprintf(c->include, sizeof c->include, "-I%s", path);
        status = assay_place(own, path);
    }
    if (status != ASSAY_OK)
        return status;
    snprintf(c->own, sizeof c->own, "-I%s", path);
    if (access(path, F_OK) == 0)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_FILE, "%.300s: these headers are not there; install assay again",
                      path);
}

/* The linker must keep the shared memory of each file in a section of its own. */
static void name_section(command *c, const char *source) {
    const char *slash = strrchr(source, '/');
    int n = snprintf(c->section, sizeof c->section, "-DASSAY_SHARED_SECTION=\".assay.shared.");
    for (const char *at = slash != NULL ? slash + 1 : source; *at != '\0'; ++at)
        c->section[n++] = isalnum((unsigned char)*at) ? *at : '_';
    snprintf(c->section + n, sizeof c->section - (size_t)n, "\"");
}

/* As the build of assay does it where it can: a fused multiply-add is a call otherwise. */
static void add_host_options(command *c) {
#if defined(__x86_64__)
    static const char *const flags[] = {"-mfma", "-mavx2", "-mbmi2"};
    const bool has = __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2") &&
                     __builtin_cpu_supports("bmi2");
    for (size_t i = 0; has && i < sizeof flags / sizeof *flags; ++i)
        add(c, flags[i]);
#else
    (void)c;
#endif
}

/* sim/alignment.c hears of misaligned addresses, or UndefinedBehaviorSanitizer does. */
static void add_alignment(command *c) {
#if !defined(SIM_ASAN)
    add(c, "-fsanitize=alignment");
    add(c, "-fno-sanitize-recover=alignment");
#else
    (void)c;
#endif
}

static assay_status for_sim(command *c, const char *source) {
    static const char *const flags[] = {"-x",
                                        "c++",
                                        "-std=c++20",
                                        "-O2",
                                        "-g1",
                                        "-fPIC",
                                        "-shared",
                                        "-Wl,-Bsymbolic",
                                        "-ffp-contract=off",
                                        "-fno-strict-aliasing",
                                        "-Wno-unknown-pragmas",
                                        "-D_GNU_SOURCE"};
    add(c, or_else("CXX", "c++"));
    for (size_t i = 0; i < sizeof flags / sizeof *flags; ++i)
        add(c, flags[i]);
    add_host_options(c);
    add_alignment(c);
    name_section(c, source);
    add(c, c->section);
    add(c, c->include);
    add(c, c->own);
    return add_variable(c, "CXXFLAGS");
}

static bool is_given(const char *variable, const char *text) {
    const char *value = getenv(variable);
    return value != NULL && strstr(value, text) != NULL;
}

/* That of the GPU, with what it alone has, as wgmma. nvcc's `-arch=native` leaves that out, and its
 * `-arch=sm_90a` compiles a second time for compute_90, which has none. */
static const char *name_architecture(command *c) {
    enum { SPECIFIC_SINCE = 90 };
    const int32_t capability = assay_cli_capability(), of = capability > 0 ? capability : 90;
    const char *specific = of >= SPECIFIC_SINCE ? "a" : "";
    snprintf(c->architecture, sizeof c->architecture, "-gencode=arch=compute_%d%s,code=sm_%d%s", of,
             specific, of, specific);
    return c->architecture;
}

/* As nvcc does unless told otherwise: people's kernels are compiled as they are. The simulated
 * device takes their PTX, and stands in for the runtime as a library. */
static assay_status by_nvcc(command *c, bool simulated) {
    static const char *const flags[] = {"-x",        "cu",         "-std=c++20", "-O3",
                                        "-lineinfo", "-Xcompiler", "-fPIC",      "-shared",
                                        "-Xlinker",  "-Bsymbolic"};
    static const char usual[] = "/usr/local/cuda/bin/nvcc";
    add(c, or_else("NVCC", access(usual, X_OK) == 0 ? usual : "nvcc"));
    for (size_t i = 0; i < sizeof flags / sizeof *flags; ++i)
        add(c, flags[i]);
    if (simulated) {
        add(c, "-cudart");
        add(c, "shared");
    }
    if (!is_given("NVCCFLAGS", "-arch") && !is_given("NVCCFLAGS", "-gencode"))
        add(c, simulated ? "-gencode=arch=compute_90a,code=compute_90a" : name_architecture(c));
    add(c, c->include);
    add(c, c->own);
    return add_variable(c, "NVCCFLAGS");
}

/* As it would be typed. */
static void print(FILE *to, const command *c) {
    for (int i = 0; i < c->count; ++i) {
        const char *word = c->word[i];
        const bool plain =
            word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "-_=+./,:@%")] == '\0';
        fprintf(to, "%s%s%s%s", i > 0 ? " " : "", plain ? "" : "'", word, plain ? "" : "'");
    }
    fputs("\n", to);
    fflush(to);
}

/* The compiler. A source may ask it to put any file into the object (`.incbin`), whose code then
 * tells what is in it. */
static void start(int channel, void *context) {
    command *c = context;
    const int none = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)channel; /* closed when the compiler starts */
    (void)setpgid(0, 0);
    (void)signal(SIGINT, SIG_DFL);
    (void)dup2(none, STDIN_FILENO);
    (void)dup2(STDERR_FILENO, STDOUT_FILENO);
    state_conceal_key();
    (void)execvp(c->word[0], c->word);
    _exit(NOT_FOUND);
}

static assay_status run(command *c, const char *source, const char *variable) {
    process p;
    char how[PROCESS_LINE];
    const int error = process_fork(&p, start, c);
    if (error != 0)
        return assay_fail(ASSAY_ERR_UNSUPPORTED, "%.200s: %s; it compiles %.200s", c->word[0],
                          strerror(error), source);
    process_finish(&p, &(process_limits){.seconds = INFINITY, .bytes = INFINITY});
    if (p.end == PROCESS_EXIT && p.code == 0)
        return ASSAY_OK;
    if (p.end == PROCESS_EXIT && p.code == NOT_FOUND)
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "%.200s was not found; it compiles %.200s: install it, or name another "
                          "with $%s",
                          c->word[0], source, variable);
    return assay_fail(ASSAY_ERR_FILE, "%.200s: %.200s does not compile it: its process %s", source,
                      c->word[0], process_how(&p, how));
}

/* Text outside comments and strings; the rest becomes blanks. */
static void blank_comments(char *text) {
    for (char *at = text; *at != '\0';) {
        const size_t length =
            strncmp(at, "//", 2) == 0 ? strcspn(at, "\n")
            : strncmp(at, "/*", 2) == 0
                ? (size_t)(strstr(at, "*/") != NULL ? strstr(at, "*/") + 2 - at : (long)strlen(at))
                : 0;
        memset(at, ' ', length);
        at += length > 0 ? length : 1;
    }
}

static bool has(const char *text, const char *word) {
    return strstr(text, word) != NULL;
}

/* Whether only nvcc knows the language. `source` is one that the device at hand takes. */
static assay_status look_at(const char *source, bool simulated, bool *nvcc) {
    char *text = NULL;
    size_t size;
    assay_status status = text_file_read(source, "kernel file", MOST, &text, &size);
    if (status == ASSAY_OK && text == NULL)
        status = assay_fail(ASSAY_ERR_FILE, "%.300s: no such file", source);
    *nvcc = !simulated;
    if (status == ASSAY_OK && simulated) {
        blank_comments(text);
        const bool ours =
            has(text, "device/kernel.h") || has(text, "ASSAY_VARIANT") || has(text, "ASSAY_LAUNCH");
        *nvcc = !ours && (has(text, "<<<") || has(text, "__global__") || has(text, "<cuda"));
        if (ours && has(text, "<<<"))
            status = assay_fail(ASSAY_ERR_UNSUPPORTED,
                                "%.200s is written for assay and launches with <<<...>>>: for the "
                                "simulated device launch with ASSAY_LAUNCH, as examples/row_sum.cu "
                                "does",
                                source);
    }
    free(text);
    return status;
}

/* The words so far, and the two files. */
static assay_status finish(command *c, const char *source, const char *object, const char *variable,
                           FILE *tell) {
    add(c, source);
    add(c, "-o");
    add(c, object);
    if (tell != NULL)
        print(tell, c);
    return run(c, source, variable);
}

static assay_status make_command(command **made) {
    *made = calloc(1, sizeof **made);
    return *made != NULL ? ASSAY_OK
                         : assay_fail(ASSAY_ERR_MEMORY, "no memory for the compiler's command");
}

static void clear_command(command *c) {
    if (c != NULL)
        free(c->split);
    free(c);
}

assay_status compile_kernel(const char *source, const char *object, const char *device,
                            FILE *tell) {
    bool nvcc;
    const bool simulated = strcmp(device, "sim") == 0;
    command *c;
    assay_status status = make_command(&c);
    if (status == ASSAY_OK)
        status = look_at(source, simulated, &nvcc);
    if (status == ASSAY_OK)
        status = find_headers(c, "include/assay/kernel");
    if (status == ASSAY_OK)
        status = nvcc ? by_nvcc(c, simulated) : for_sim(c, source);
    if (status == ASSAY_OK)
        status = finish(c, source, object, nvcc ? "NVCC" : "CXX", tell);
    clear_command(c);
    return status;
}

assay_status compile_operator(const char *source, const char *object, FILE *tell) {
    static const char *const flags[] = {"-std=gnu17", "-O2",     "-g1",
                                        "-fPIC",      "-shared", "-ffp-contract=off"};
    command *c;
    assay_status status = make_command(&c);
    if (status == ASSAY_OK && access(source, R_OK) != 0)
        status = assay_fail(ASSAY_ERR_FILE, "%.300s: %s", source, strerror(errno));
    if (status == ASSAY_OK)
        status = find_headers(c, "include/assay/operator");
    if (status == ASSAY_OK) {
        add(c, or_else("CC", "cc"));
        for (size_t i = 0; i < sizeof flags / sizeof *flags; ++i)
            add(c, flags[i]);
        add(c, c->include);
        add(c, c->own);
        status = add_variable(c, "CFLAGS");
    }
    if (status == ASSAY_OK)
        status = finish(c, source, object, "CC", tell);
    clear_command(c);
    return status;
}
