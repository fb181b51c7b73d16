#include "cli/kernel.h"
#include "cli/compile.h"
#include "cli/exec.h"
#include "cli/python.h"
#include "cli/text_file.h"
#include "engine/binding.h"
#include "engine/elf_file.h"
#include "engine/foreign_names.h"
#include "engine/kernel_file.h"
#include "sim/exec/prepare.h"
#include "sim/exec/race.h"
#include "sim/ptx/launch.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 16 << 20 };

static bool ends_with(const char *path, const char *end) {
    const size_t length = strlen(path), n = strlen(end);
    return length > n && strcmp(path + length - n, end) == 0;
}

/* Of kernels, which a binding launches. */
static bool is_module(const char *path) {
    return ends_with(path, ".ptx") || ends_with(path, ".cubin");
}

static bool is_source(const char *path) {
    static const char *const ends[] = {".cu", ".cuh", ".c", ".cc", ".cpp", ".h"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; ++i)
        if (ends_with(path, ends[i]))
            return true;
    return false;
}

static const char *device_of(const assay_cli_args *args) {
    return args->device != NULL ? args->device : assay_cli_capability() > 0 ? "cuda" : "sim";
}

/* ---- a source ---- */

static assay_status make_folder(char path[PATH_MAX]) {
    const char *parent = getenv("TMPDIR");
    snprintf(path, PATH_MAX, "%.3000s/assay-kernel-XXXXXX",
             parent != NULL && *parent != '\0' ? parent : "/tmp");
    const bool made = mkdtemp(path) != NULL;
    if (made && chmod(path, 0755) == 0) /* a guest is another user */
        return ASSAY_OK;
    const int error = errno;
    if (made)
        (void)rmdir(path);
    const assay_status status =
        assay_fail(ASSAY_ERR_FILE, "%.300s: %s; set $TMPDIR", path, strerror(error));
    path[0] = '\0';
    return status;
}

static void remove_folder(const char *path) {
    char file[2 * PATH_MAX];
    DIR *folder = opendir(path);
    for (const struct dirent *d; folder != NULL && (d = readdir(folder)) != NULL;) {
        snprintf(file, sizeof file, "%s/%s", path, d->d_name);
        (void)unlink(file); /* not . and .. */
    }
    if (folder != NULL)
        (void)closedir(folder);
    (void)rmdir(path);
}

static const char *file_name(const assay_cli_args *args) {
    const char *path = args->kernel_source != NULL ? args->kernel_source : args->kernel;
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* The object has the same name each time, and so the same bytes. */
static assay_status compile(assay_cli_args *args) {
    char *path = malloc(PATH_MAX + 16);
    if (path == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory to compile %.300s", args->kernel);
    assay_status status = make_folder(args->kernel_folder);
    if (status == ASSAY_OK) {
        snprintf(path, PATH_MAX + 16, "%s/kernel.so", args->kernel_folder);
        status = compile_kernel(args->kernel, path, device_of(args), args->quiet ? NULL : stderr);
    }
    args->kernel_source = args->kernel;
    args->kernel = path; /* freed by cli_kernel_clear() */
    return status;
}

/* ---- its kernels for the simulated device ---- */

/* Sets the variables that the processes which run it read. */
static bool tell_guests(const assay_cli_args *args, const char *stand_ins) {
    return setenv(PTX_PREPARED_VARIABLE, args->kernel_folder, 1) == 0 &&
           setenv(EXEC_NAME_VARIABLE, file_name(args), 1) == 0 &&
           exec_prepend("LD_LIBRARY_PATH", stand_ins);
}

static assay_status prepare_ptx(const assay_cli_args *args) {
    char *text = NULL;
    size_t size;
    assay_status status = text_file_read(args->kernel, "PTX module", MOST, &text, &size);
    if (status == ASSAY_OK && text == NULL)
        status = assay_fail(ASSAY_ERR_FILE, "%.300s: no such file", args->kernel);
    if (status == ASSAY_OK)
        status = exec_prepare_text(text, size, file_name(args), args->kernel_folder);
    free(text);
    return status;
}

/* Those of CUDA are compiled here, since a guest may start no compiler. */
static assay_status prepare_cuda(assay_cli_args *args) {
    char stand_ins[PATH_MAX];
    assay_status status = exec_stand_ins(stand_ins);
    if (status == ASSAY_OK && setenv(EXEC_RACE_VARIABLE, args->no_race ? "off" : "on", 1) != 0)
        status = assay_fail(ASSAY_ERR_MEMORY, "no memory for the environment");
    if (status == ASSAY_OK && args->kernel_folder[0] == '\0')
        status = make_folder(args->kernel_folder);
    if (status == ASSAY_OK)
        status = is_module(args->kernel)
                     ? prepare_ptx(args)
                     : exec_prepare(args->kernel, file_name(args), args->kernel_folder);
    if (status == ASSAY_OK && !tell_guests(args, stand_ins))
        status = assay_fail(ASSAY_ERR_MEMORY, "no memory for the environment");
    return status;
}

/* Machine code, which a GPU of its architecture runs. */
static assay_status check_cubin(const char *file, bool simulated) {
    kernel_file *k = calloc(1, sizeof *k);
    if (k == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory to read %.300s", file);
    assay_status status = kernel_file_open(k, file);
    const kernel_part *own = &k->part[0];
    const int32_t sm = status == ASSAY_OK ? elf_cubin_architecture(own->image, own->bytes) : 0;
    if (status == ASSAY_OK && sm == 0)
        status = assay_fail(ASSAY_ERR_FILE,
                            "%.300s: is no whole cubin; nvcc -cubin writes one, and the text that "
                            "nvcc -ptx writes is named .ptx",
                            file);
    else if (status == ASSAY_OK && simulated)
        status = assay_fail(ASSAY_ERR_UNSUPPORTED,
                            "%.300s is machine code for sm_%d, which runs on such a GPU alone: "
                            "give --device cuda there, or here the kernel's .ptx or .cu",
                            file, sm);
    kernel_file_close(k);
    free(k);
    return status;
}

static assay_status prepare(assay_cli_args *args) {
    const char *file = args->kernel;
    const bool simulated = strcmp(device_of(args), "sim") == 0;
    if (ends_with(file, ".cubin"))
        return check_cubin(file, simulated);
    if (!simulated)
        return ASSAY_OK;
    return is_module(file) || exec_has_images(file) ? prepare_cuda(args) : ASSAY_OK;
}

/* ---- its binding ---- */

static assay_status check_op(const assay_cli_args *args, const char *name, const binding *b) {
    const char *op = args->target->op->name;
    if (b->op[0] == '\0' || strcmp(b->op, op) == 0)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_USAGE, "%.200s: its binding is for %s; check %s/%s", name, b->op,
                      b->op, args->target->variant);
}

/* Kernels of a module are launched, functions of a shared object called. */
static assay_status check_form(const assay_cli_args *args, const char *name, const binding *b) {
    const bool module = is_module(args->kernel), kernels = binding_is_of_kernels(b);
    if (module && !kernels)
        return assay_fail(ASSAY_ERR_USAGE,
                          "%.200s: a kernel needs forward.grid and forward.block in its binding",
                          name);
    if (!module && kernels)
        return assay_fail(
            ASSAY_ERR_USAGE,
            "%.200s: forward.grid is for kernels of .ptx and .cubin files, and %.200s "
            "is none",
            name, file_name(args));
    return ASSAY_OK;
}

static assay_status parse_binding(const char *name, const char *text, const char *op, binding *b) {
    if (is_source(name))
        return binding_of_source(name, text, op, b);
    return is_module(name) ? binding_of_comments(name, text, b) : binding_parse(name, text, b);
}

/* Of a text, or of a source. */
static assay_status read_binding(assay_cli_args *args, const char *name) {
    char *text = NULL;
    size_t size;
    binding *b = calloc(1, sizeof *b);
    assay_status status = text_file_read(name, "binding", MOST, &text, &size);
    if (status == ASSAY_OK && text == NULL)
        status = assay_fail(ASSAY_ERR_FILE, "%.300s: no such file", name);
    if (status == ASSAY_OK && b == NULL)
        status = assay_fail(ASSAY_ERR_MEMORY, "%.300s: no memory for its binding", name);
    if (status == ASSAY_OK)
        status = parse_binding(name, text, args->target->op->name, b);
    if (status == ASSAY_OK)
        status = check_op(args, name, b);
    if (status == ASSAY_OK)
        status = check_form(args, name, b);
    if (status == ASSAY_OK)
        status = foreign_check_names(name, args->target->op, b);
    if (status == ASSAY_OK)
        status = binding_format(b, &args->binding);
    free(text);
    free(b);
    return status;
}

static bool mentions(const kernel_file *k, const char *symbol) {
    return kernel_file_names(k, "", symbol) == ASSAY_OK;
}

static bool is_for_assay(const assay_cli_args *args, const kernel_file *k) {
    static const char *const devices[] = {"sim", "cuda"};
    char symbol[KERNEL_SYMBOL];
    for (int d = 0; d < 2; ++d) {
        kernel_file_symbol(args->target->op->name, args->target->variant, devices[d], symbol);
        if (mentions(k, symbol))
            return true;
    }
    return false;
}

/* The names that tvm-ffi's functions are sought by, in this order. */
static const char *find_tvm_ffi(const kernel_file *k, const char *const *names, size_t count) {
    char symbol[KERNEL_SYMBOL];
    for (size_t i = 0; i < count; ++i) {
        snprintf(symbol, sizeof symbol, "__tvm_ffi_%s", names[i]);
        if (mentions(k, symbol))
            return names[i];
    }
    return NULL;
}

static assay_status bind_tvm_ffi(assay_cli_args *args, const kernel_file *k) {
    const char *op = args->target->op->name, *name = args->target->variant;
    char op_forward[BINDING_SYMBOL], op_backward[BINDING_SYMBOL], name_backward[BINDING_SYMBOL];
    snprintf(op_forward, sizeof op_forward, "%s_forward", op);
    snprintf(op_backward, sizeof op_backward, "%s_backward", op);
    snprintf(name_backward, sizeof name_backward, "%s_backward", name);
    const char *const forward[] = {name, op_forward, op, "forward", "run"};
    const char *const backward[] = {name_backward, op_backward, "backward"};
    const char *f = find_tvm_ffi(k, forward, sizeof forward / sizeof *forward);
    if (f == NULL) /* the line of a file that is none of these comes from the engine */
        return ASSAY_OK;
    binding *b = calloc(1, sizeof *b);
    if (b == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for a binding");
    binding_of_tvm_ffi(f, find_tvm_ffi(k, backward, sizeof backward / sizeof *backward), b);
    const assay_status status = binding_format(b, &args->binding);
    free(b);
    return status;
}

static assay_status find_module_binding(assay_cli_args *args) {
    if (args->binding_file != NULL)
        return read_binding(args, args->binding_file);
    if (ends_with(args->kernel, ".cubin"))
        return assay_fail(ASSAY_ERR_USAGE, "%.300s: --binding must say how it is launched",
                          args->kernel);
    return read_binding(args, args->kernel);
}

static assay_status check_object(const char *path, const kernel_file *k) {
    const kernel_part *own = &k->part[k->n_parts - 1];
    if (elf_is_whole(own->image, own->bytes))
        return ASSAY_OK;
    return assay_fail(
        ASSAY_ERR_FILE,
        "%.300s: is no whole shared object; --kernel takes .cu, .so, .ptx, .cubin and "
        "FILE.py:FUNCTION",
        path);
}

/* Of a shared object: in a file, in its source, or tvm-ffi's; ASSAY_VARIANT needs none. */
static assay_status find_binding(assay_cli_args *args) {
    if (is_module(args->kernel))
        return find_module_binding(args);
    kernel_file *k = calloc(1, sizeof *k);
    if (k == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory to read %.300s", args->kernel);
    assay_status status = kernel_file_open(k, args->kernel);
    if (status == ASSAY_OK)
        status = check_object(args->kernel, k);
    if (status == ASSAY_OK && args->binding_file != NULL)
        status = read_binding(args, args->binding_file);
    else if (status == ASSAY_OK && !is_for_assay(args, k))
        status = args->kernel_source != NULL ? read_binding(args, args->kernel_source)
                                             : bind_tvm_ffi(args, k);
    kernel_file_close(k);
    free(k);
    return status;
}

/* ---- both ---- */

assay_status cli_kernel_name(assay_cli_args *args) {
    const char *kernel = args->kernel_source != NULL ? args->kernel_source : args->kernel;
    const char *file = args->binding_file;
    const bool reference = args->reference != NULL;
    const char *op = reference ? args->reference : args->operator_file;
    const size_t size =
        strlen(kernel) + (file != NULL ? strlen(file) : 0) + (op != NULL ? strlen(op) : 0) + 32;
    args->kernel_words = malloc(size);
    if (args->kernel_words == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for the kernel's name");
    const char *flag = reference ? " --reference " : " --operator ";
    snprintf(args->kernel_words, size, "%s%s%s%s%s", kernel, file != NULL ? " --binding " : "",
             file != NULL ? file : "", op != NULL ? flag : "", op != NULL ? op : "");
    return ASSAY_OK;
}

assay_status cli_kernel_prepare(assay_cli_args *args) {
    if (args->kernel == NULL)
        return ASSAY_OK;
    if (cli_python_is(args->kernel))
        return cli_python_prepare(args);
    assay_status status = ends_with(args->kernel, ".cu") ? compile(args) : ASSAY_OK;
    if (status == ASSAY_OK)
        status = prepare(args);
    if (status == ASSAY_OK)
        status = cli_kernel_name(args);
    if (status == ASSAY_OK)
        status = find_binding(args);
    if (status == ASSAY_OK && args->binding != NULL && args->certify)
        status =
            assay_fail(ASSAY_ERR_USAGE,
                       "--certify: a certificate says nothing of a binding; define the variant "
                       "with ASSAY_VARIANT");
    return status;
}

void cli_kernel_clear(assay_cli_args *args) {
    if (args->kernel_folder[0] != '\0') {
        remove_folder(args->kernel_folder);
        (void)unsetenv(PTX_PREPARED_VARIABLE); /* of the next kernel's guests */
    }
    if (args->kernel_source != NULL)
        free((void *)args->kernel);
    free(args->kernel_words);
    free(args->binding);
}
