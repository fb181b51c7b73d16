#include "cli/python.h"
#include "cli/kernel.h"
#include "cli/verbs.h"
#include "engine/isolate.h"
#include "engine/variant_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char ending[] = ".py";

/* Where the path ends; NULL: it is no Python file. */
static const char *end_of_path(const char *kernel) {
    const size_t length = strlen(kernel), n = strlen(ending);
    const char *colon = strrchr(kernel, ':');
    const char *end = colon != NULL && strchr(colon, '/') == NULL ? colon : kernel + length;
    return (size_t)(end - kernel) > n && memcmp(end - n, ending, n) == 0 ? end : NULL;
}

const char *cli_python_interpreter(void) {
    const char *python = getenv("ASSAY_PYTHON");
    return python != NULL && *python != '\0' ? python : "python3";
}

bool cli_python_is(const char *kernel) {
    return end_of_path(kernel) != NULL;
}

/* ---- the words ---- */

/* The whole path of a Python file, and what follows the path in the words. */
static assay_status find_file(const char *words, char path[PATH_MAX], const char **rest) {
    const char *end = end_of_path(words);
    char file[PATH_MAX];
    snprintf(file, sizeof file, "%.*s", (int)(end - words), words);
    *rest = end;
    return realpath(file, path) != NULL
               ? ASSAY_OK
               : assay_fail(ASSAY_ERR_FILE, "%.300s: %s", file, strerror(errno));
}

/* args->binding: the whole path, a colon, the functions' names; where there is a reference, an @
 * and that, likewise. */
static assay_status name_functions(assay_cli_args *args, const char *names) {
    char path[PATH_MAX], reference[PATH_MAX] = "";
    const char *rest, *of = "";
    assay_status status = find_file(args->kernel, path, &rest);
    if (status == ASSAY_OK && args->reference != NULL)
        status = find_file(args->reference, reference, &of);
    if (status != ASSAY_OK)
        return status;
    const size_t size = strlen(path) + strlen(names) + strlen(reference) + strlen(of) + 4;
    args->binding = malloc(size);
    if (args->binding == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for --kernel");
    snprintf(args->binding, size, "%s:%s%s%s%s", path, names, reference[0] != '\0' ? "@" : "",
             reference, of);
    return ASSAY_OK;
}

static assay_status cut_words(assay_cli_args *args) {
    const char *words = args->kernel, *end = end_of_path(words);
    args->python = cli_python_interpreter();
    args->kernel_source = words;
    args->kernel = strndup(words, (size_t)(end - words)); /* freed by cli_kernel_clear() */
    if (args->kernel == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for --kernel");
    const assay_status status = cli_kernel_name(args);
    const char *name = args->reference != NULL ? "" : args->target->op->name;
    return status == ASSAY_OK ? name_functions(args, *end == ':' ? end + 1 : name) : status;
}

/* ---- whether it can be loaded, and has a backward ---- */

typedef struct probe {
    const assay_variant *variant;
    const assay_device *device;
    bool only_forward; /* no backward is asked for */
    bool known, forward;
    char why[512];
} probe;

static assay_status ask(const probe *p, const assay_case *c) {
    assay_problem problem;
    assay_status status = assay_problem_init_empty(&problem, c);
    if (status == ASSAY_OK)
        status = assay_supports_isolated(p->variant, p->device, &problem);
    assay_problem_clear(&problem);
    return status;
}

/* A case whose outputs it computes, and whose gradients it does not, tells of all. */
static assay_status ask_case(const assay_case *c, void *context) {
    probe *p = context;
    assay_case forward = *c;
    forward.forward_only = true;
    if (p->known)
        return ASSAY_OK;
    assay_status status = ask(p, p->only_forward ? &forward : c);
    p->known = status == ASSAY_OK;
    if (status != ASSAY_ERR_UNSUPPORTED || p->only_forward)
        return status == ASSAY_ERR_UNSUPPORTED ? ASSAY_OK : status;
    snprintf(p->why, sizeof p->why, "%s", assay_error());
    status = ask(p, &forward);
    p->known = p->forward = status == ASSAY_OK;
    return status == ASSAY_ERR_UNSUPPORTED ? ASSAY_OK : status;
}

/* A line without the stage, which the runner puts before it. */
static const char *without_stage(const char *line) {
    static const char *const stages[] = {"forward: ", "backward: "};
    for (size_t s = 0; s < sizeof stages / sizeof *stages; ++s)
        if (strncmp(line, stages[s], strlen(stages[s])) == 0)
            return line + strlen(stages[s]);
    return line;
}

static assay_status refuse(const assay_cli_args *args, assay_status status) {
    char line[512];
    snprintf(line, sizeof line, "%s", without_stage(assay_error()));
    /* It imports, and may compile, before it answers. */
    return assay_fail(status, "%.300s: %s%s", args->kernel_source, line,
                      strstr(line, "no answer after") != NULL ? "; --time-limit gives it longer"
                                                              : "");
}

static assay_status find_scope(assay_cli_args *args) {
    const assay_cli_target *target = args->target;
    probe p = {.only_forward = args->scope.forward};
    const assay_device *device;
    assay_status status = assay_cli_open_device(args, &device);
    if (status == ASSAY_OK)
        status = assay_cli_isolate(args, device, &p.device);
    if (status != ASSAY_OK)
        return status;
    p.variant = variant_find(p.device, target->op->name, target->variant);
    status = assay_op_visit_set(target->op, ASSAY_SMOKE, ask_case, &p);
    assay_isolate_end(p.device);
    if (status != ASSAY_OK)
        return refuse(args, status);
    if (!p.forward)
        return ASSAY_OK;
    args->scope.forward = args->out.scope.forward = true;
    fprintf(args->out.stream, "forward only: %s\n", without_stage(p.why));
    return ASSAY_OK;
}

assay_status cli_python_prepare(assay_cli_args *args) {
    assay_status status = cut_words(args);
    const unsigned verb = cli_verb_find(args->verb)->bit;
    if (status == ASSAY_OK && verb != CLI_CHECK && verb != CLI_FUZZ && verb != CLI_BENCH)
        status = assay_fail(ASSAY_ERR_UNSUPPORTED,
                            "%s takes no Python function; check, fuzz and bench do", args->verb);
    if (status == ASSAY_OK && args->binding_file != NULL)
        status = assay_fail(ASSAY_ERR_USAGE,
                            "--binding: the parameters of a Python function are its binding");
    if (status == ASSAY_OK && args->certify)
        status = assay_fail(ASSAY_ERR_USAGE,
                            "--certify: a certificate names the bytes that were checked, and a "
                            "Python function is more than its file");
    return status == ASSAY_OK ? find_scope(args) : status;
}
