/*
 * C code to a loaded object. Compiled kernels are kept in a cache: a file is named by its inputs
 * (code, headers, compiler, options) and ends with a checksum, so that neither another version nor
 * a damaged file is ever loaded. Files get their names when they are complete.
 */
#include "sim/ptx/internal.h"

#include "sim/asan.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The headers of device/, one behind the other (sim/CMakeLists.txt). */
extern const char ptx_device_headers[];

enum { MOST_ARGUMENTS = 32, VERSION = 256, KEY = 33 };

/* How every kernel is compiled: no contraction, integers that wrap around. */
static const char *const options[] = {"-O1",
                                      "-w",
                                      "-fPIC",
                                      "-shared",
                                      "-xc",
                                      "-std=gnu17",
                                      "-ffp-contract=off",
                                      "-fno-math-errno",
                                      "-fno-trapping-math",
                                      "-fno-strict-aliasing",
                                      "-fwrapv",
#if defined(SIM_ASAN) /* by the compiler of this program, whose runtime it shares */
                                      "-fsanitize=address",
                                      "-g1",
#endif
                                      NULL};

static const char *compiler(void) {
    const char *own = getenv("ASSAY_CC");
#if defined(SIM_ASAN)
    const char *usual = PTX_BUILD_COMPILER;
#else
    const char *usual = "cc";
#endif
    return own != NULL && own[0] != '\0' ? own : usual;
}

/* The instructions of this host that make fused multiply-adds and rounding one instruction. */
static int add_host_options(const char **to) {
    int n = 0;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2")) {
        to[n++] = "-mavx2";
        to[n++] = "-mfma";
        to[n++] = "-mbmi2";
    }
#endif
    return n;
}

/* ---- the compiler */

/* Runs it with its output and messages in files; 0, its exit status, or -1 with errno. */
static int run(const char *const *arguments, const char *output) {
    posix_spawn_file_actions_t files;
    pid_t child;
    int wait_status;
    if (posix_spawn_file_actions_init(&files) != 0)
        return -1;
    int error = posix_spawn_file_actions_addopen(&files, 1, output, O_WRONLY | O_CREAT | O_TRUNC,
                                                 S_IRUSR | S_IWUSR);
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(&files, 1, 2);
    if (error == 0)
        error = posix_spawnp(&child, arguments[0], &files, NULL,
                             (char *const *)(uintptr_t)arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    errno = error;
    if (error != 0)
        return -1;
    while (waitpid(child, &wait_status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128;
}

static void read_line(const char *path, char *line, size_t size) {
    FILE *file = fopen(path, "r");
    line[0] = '\0';
    if (file != NULL) {
        if (fgets(line, (int)size, file) == NULL)
            line[0] = '\0';
        fclose(file);
    }
    line[strcspn(line, "\n")] = '\0';
}

static assay_status no_compiler(void) {
    return assay_fail(ASSAY_ERR_UNSUPPORTED,
                      "kernels from PTX need a C compiler, and %s does not run: install gcc or "
                      "clang, or name one with ASSAY_CC",
                      compiler());
}

/* The first line that the compiler says of itself; asked once. */
static assay_status find_version(const char *folder, char version[VERSION]) {
    static char known[VERSION], known_of[PATH_MAX];
    char path[PATH_MAX];
    if (known[0] == '\0' || strcmp(known_of, compiler()) != 0) {
        snprintf(path, sizeof path, "%.4000s/version.%d", folder, (int)getpid());
        const char *const arguments[] = {compiler(), "--version", NULL};
        const int status = run(arguments, path);
        if (status == 0)
            read_line(path, known, sizeof known);
        unlink(path);
        if (status != 0 || known[0] == '\0') {
            known[0] = '\0';
            return no_compiler();
        }
        snprintf(known_of, sizeof known_of, "%s", compiler());
    }
    memcpy(version, known, VERSION);
    return ASSAY_OK;
}

/* ---- folders */

/* The folder and those above it; true when files can be made there. */
static bool make_folder(char *path) {
    for (char *at = path + 1; *at != '\0'; ++at)
        if (*at == '/') {
            *at = '\0';
            (void)mkdir(path, S_IRWXU);
            *at = '/';
        }
    (void)mkdir(path, S_IRWXU);
    return access(path, W_OK | X_OK) == 0;
}

/* $XDG_CACHE_HOME/assay/ptx, or one of this process alone; `passing`: that. */
static assay_status choose_folder(char path[PATH_MAX], bool *passing) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const char *temporary = getenv("TMPDIR");
    *passing = false;
    if (cache != NULL && cache[0] == '/')
        snprintf(path, PATH_MAX, "%.3900s/assay/ptx", cache);
    else
        snprintf(path, PATH_MAX, "%.3900s/.cache/assay/ptx", home != NULL ? home : "/nonexistent");
    if (make_folder(path))
        return ASSAY_OK;
    *passing = true;
    snprintf(path, PATH_MAX, "%.3900s/assay-ptx-XXXXXX", temporary != NULL ? temporary : "/tmp");
    if (mkdtemp(path) == NULL)
        return assay_fail(ASSAY_ERR_FILE, "%s: cannot store compiled kernels: %s; set TMPDIR", path,
                          strerror(errno));
    return ASSAY_OK;
}

/* ---- checksums */

static uint64_t mix(uint64_t h, const char *bytes, size_t n) {
    for (size_t i = 0; i < n; ++i)
        h = (h ^ (unsigned char)bytes[i]) * UINT64_C(1099511628211);
    return h ^ h >> 32;
}

typedef struct trailer {
    char magic[8];
    uint64_t checksum;
} trailer;

static trailer trailer_of(const char *bytes, size_t n) {
    return (trailer){"assayso", mix(UINT64_C(14695981039346656037), bytes, n)};
}

/* A file's bytes; NULL when it cannot be read. */
static char *read_all(const char *path, size_t *n) {
    FILE *file = fopen(path, "rb");
    char *bytes = NULL;
    long size = -1;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (size > 0 && fseek(file, 0, SEEK_SET) == 0)
        bytes = malloc((size_t)size);
    *n = size > 0 ? (size_t)size : 0;
    if (bytes != NULL && fread(bytes, 1, *n, file) != *n) {
        free(bytes);
        bytes = NULL;
    }
    if (file != NULL)
        fclose(file);
    return bytes;
}

static bool is_whole(const char *path) {
    size_t n;
    char *bytes = read_all(path, &n);
    bool whole = bytes != NULL && n > sizeof(trailer);
    if (whole) {
        const trailer wanted = trailer_of(bytes, n - sizeof(trailer));
        whole = memcmp(bytes + n - sizeof wanted, &wanted, sizeof wanted) == 0;
    }
    free(bytes);
    return whole;
}

static bool seal(const char *path) {
    size_t n;
    char *bytes = read_all(path, &n);
    FILE *file = bytes != NULL ? fopen(path, "ab") : NULL;
    bool done = false;
    if (file != NULL) {
        const trailer t = trailer_of(bytes, n);
        done = fwrite(&t, sizeof t, 1, file) == 1;
        done = fclose(file) == 0 && done;
    }
    free(bytes);
    return done;
}

/* Two checksums of 64 bits that begin differently, as text. */
static void name_of(const char *code, const char *version, char key[KEY]) {
    const char *host[4];
    const int n_host = add_host_options(host);
    for (int half = 0; half < 2; ++half) {
        uint64_t h = half == 0 ? UINT64_C(14695981039346656037) : UINT64_C(0x9e3779b97f4a7c15);
        h = mix(h, ptx_device_headers, strlen(ptx_device_headers) + 1);
        h = mix(h, code, strlen(code) + 1);
        h = mix(h, version, strlen(version) + 1);
        for (int i = 0; options[i] != NULL; ++i)
            h = mix(h, options[i], strlen(options[i]) + 1);
        for (int i = 0; i < n_host; ++i)
            h = mix(h, host[i], strlen(host[i]) + 1);
        snprintf(key + 16 * half, KEY - 16 * (size_t)half, "%016llx", (unsigned long long)h);
    }
}

/* ---- building */

static assay_status write_code(const char *path, const char *code) {
    FILE *file = fopen(path, "w");
    bool done = file != NULL;
    if (done) {
        done = fputs(ptx_device_headers, file) >= 0 && fputs(code, file) >= 0;
        done = fclose(file) == 0 && done;
    }
    return done ? ASSAY_OK
                : assay_fail(ASSAY_ERR_FILE, "%s: cannot be written: %s", path, strerror(errno));
}

static assay_status compile(const char *name, const char *source, const char *object,
                            const char *messages) {
    const char *arguments[MOST_ARGUMENTS] = {compiler()};
    char line[200];
    int n = 1;
    for (int i = 0; options[i] != NULL; ++i)
        arguments[n++] = options[i];
    n += add_host_options(&arguments[n]);
    arguments[n++] = source;
    arguments[n++] = "-o";
    arguments[n++] = object;
    arguments[n++] = "-lm";
    const int status = run(arguments, messages);
    if (status < 0)
        return no_compiler();
    if (status != 0) {
        read_line(messages, line, sizeof line);
        return assay_fail(ASSAY_ERR_UNSUPPORTED, "%s: %s failed on its C code: %s", name,
                          compiler(), line);
    }
    return seal(object)
               ? ASSAY_OK
               : assay_fail(ASSAY_ERR_FILE, "%s: cannot be written: %s", object, strerror(errno));
}

static assay_status load(const char *path, const char *name, ptx_compiled *compiled) {
    compiled->object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (compiled->object == NULL)
        return assay_fail(ASSAY_ERR_FILE, "%s: its compiled code cannot be loaded: %s", name,
                          dlerror());
    void *entry = dlsym(compiled->object, PTX_ENTRY);
    memcpy(&compiled->entry, &entry, sizeof entry);
    const ptx_site_list *list = dlsym(compiled->object, PTX_SITES);
    if (entry != NULL && list != NULL) {
        compiled->sites = list->sites;
        compiled->n_sites = list->n;
        return ASSAY_OK;
    }
    ptx_unload(compiled);
    return assay_fail(ASSAY_ERR_FILE, "%s: its compiled code lacks %s", name,
                      entry == NULL ? PTX_ENTRY : PTX_SITES);
}

void ptx_unload(ptx_compiled *compiled) {
    if (compiled->object != NULL)
        dlclose(compiled->object);
    compiled->object = NULL;
}

/* Compiles into `path`, by way of files of this process alone. */
static assay_status make(const char *code, const char *name, const char *path) {
    static int32_t serial;
    char source[PATH_MAX], object[PATH_MAX], messages[PATH_MAX];
    const int process = (int)getpid(), number = ++serial;
    snprintf(source, sizeof source, "%.3900s.%d.%d.c", path, process, number);
    snprintf(object, sizeof object, "%.3900s.%d.%d.so", path, process, number);
    snprintf(messages, sizeof messages, "%.3900s.%d.%d.txt", path, process, number);
    assay_status status = write_code(source, code);
    if (status == ASSAY_OK)
        status = compile(name, source, object, messages);
    if (status == ASSAY_OK && rename(object, path) != 0)
        status = assay_fail(ASSAY_ERR_FILE, "%s: cannot be renamed: %s", object, strerror(errno));
    unlink(source);
    unlink(messages);
    if (status != ASSAY_OK)
        unlink(object);
    return status;
}

/* What is done with the compiled kernel at `path`. */
typedef assay_status use(const char *path, const char *name, void *data);

static assay_status with_compiled(const char *code, const char *name, use *act, void *data) {
    char folder[PATH_MAX], path[PATH_MAX], version[VERSION], key[KEY];
    bool passing;
    assay_status status = choose_folder(folder, &passing);
    if (status != ASSAY_OK)
        return status;
    status = find_version(folder, version);
    if (status == ASSAY_OK) {
        name_of(code, version, key);
        snprintf(path, sizeof path, "%.4000s/%s.so", folder, key);
        if (!is_whole(path))
            status = make(code, name, path);
        if (status == ASSAY_OK)
            status = act(path, name, data);
        if (passing)
            unlink(path);
    }
    if (passing)
        rmdir(folder);
    return status;
}

/* ---- prepared kernels: a process that may start no compiler cannot ask for its version ---- */

static void prepared_path(const char *code, const char *folder, char path[PATH_MAX]) {
    char key[KEY];
    name_of(code, "", key);
    snprintf(path, PATH_MAX, "%.4000s/%s.so", folder, key);
}

static assay_status copy_file(const char *path, const char *name, void *to) {
    size_t n;
    char *bytes = read_all(path, &n);
    FILE *file = bytes != NULL ? fopen(to, "wb") : NULL;
    bool done = file != NULL;
    if (done) {
        done = fwrite(bytes, 1, n, file) == n;
        done = fclose(file) == 0 && done;
    }
    free(bytes);
    return done ? ASSAY_OK
                : assay_fail(ASSAY_ERR_FILE, "%s: %s: cannot be written: %s", name,
                             (const char *)to, strerror(errno));
}

assay_status ptx_store(const char *code, const char *name, const char *folder) {
    char path[PATH_MAX];
    prepared_path(code, folder, path);
    return with_compiled(code, name, copy_file, path);
}

static assay_status load_compiled(const char *path, const char *name, void *compiled) {
    return load(path, name, compiled);
}

assay_status ptx_build(const char *code, const char *name, ptx_compiled *compiled) {
    const char *folder = getenv(PTX_PREPARED_VARIABLE);
    char path[PATH_MAX];
    if (folder != NULL) {
        prepared_path(code, folder, path);
        if (is_whole(path))
            return load(path, name, compiled);
    }
    return with_compiled(code, name, load_compiled, compiled);
}
