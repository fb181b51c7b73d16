#include "cli/operator.h"
#include "cli/compile.h"
#include "oracles/common/gradcheck.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- loading ---- */

static bool is_source(const char *path) {
    const size_t length = strlen(path);
    return length > 2 && strcmp(path + length - 2, ".c") == 0;
}

static assay_status compile_and_load(assay_cli_args *args) {
    const char *parent = getenv("TMPDIR");
    char *object = malloc(PATH_MAX);
    if (object == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory to compile %.300s", args->operator_file);
    args->operator_object = object;
    snprintf(object, PATH_MAX, "%.3000s/assay-operator-XXXXXX.so",
             parent != NULL && *parent != '\0' ? parent : "/tmp");
    const int file = mkstemps(object, 3);
    if (file < 0)
        return assay_fail(ASSAY_ERR_FILE, "%.300s: %s; set $TMPDIR", object, strerror(errno));
    (void)close(file);
    assay_status status =
        compile_operator(args->operator_file, object, args->quiet ? NULL : stderr);
    if (status == ASSAY_OK)
        status = operator_library_open(&args->library, object);
    if (status == ASSAY_OK) /* what people know it by */
        snprintf(args->library.path, sizeof args->library.path, "%s", args->operator_file);
    return status;
}

assay_status cli_operator_load(assay_cli_args *args) {
    return is_source(args->operator_file)
               ? compile_and_load(args)
               : operator_library_open(&args->library, args->operator_file);
}

void cli_operator_clear(assay_cli_args *args) {
    operator_library_close(&args->library);
    if (args->operator_object != NULL)
        (void)unlink(args->operator_object);
    free(args->operator_object);
}

/* ---- its proof ---- */

/* A wrong gradient is wrong nearly everywhere. A function with a kink may look wrong where a step
 * crosses it, once in many cases. */
enum { DRAWS = 8, ALLOWED = 1, TINY = 300 };
static const double most_off = 1e-5;

static assay_status worst_of(const assay_op *op, uint64_t index, assay_case *c, double *worst) {
    assay_rng rng = {.seed = index, .stream = assay_rng_stream(op->name)};
    assay_problem p = {0};
    *c = (assay_case){.op = op, .seed = index};
    assay_params_init(op, &c->params);
    c->params.dtype = ASSAY_F64;
    op->draw(&rng, TINY, &c->params);
    assay_status status = op->legal(&c->params);
    if (status == ASSAY_OK)
        status = assay_problem_init(&p, c);
    if (status == ASSAY_OK)
        status = gradcheck_jacobian(
            &(gradcheck){.problem = &p, .forward = op->forward, .backward = op->backward}, worst);
    assay_problem_clear(&p);
    return status;
}

assay_status cli_operator_prove(const assay_cli_args *args) {
    const assay_op *op = args->library.op;
    char text[ASSAY_CASE_TEXT];
    assay_case c, wrong = {0};
    double worst = 0, found = 0;
    int bad = 0;
    if (op == NULL || op->backward == NULL || op->surrogate)
        return ASSAY_OK;
    for (uint64_t i = 0; i < DRAWS; ++i) {
        const assay_status status = worst_of(op, i, &c, &worst);
        if (status != ASSAY_OK)
            return status;
        if (worst <= most_off)
            continue;
        if (bad++ == 0) {
            wrong = c;
            found = worst;
        }
    }
    if (bad <= ALLOWED)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_FILE,
                      "%.300s: backward of %s is not the derivative of its forward: in %d of %d "
                      "random cases, %.200s the first, it is off by %.3g",
                      args->operator_file, op->name, bad, DRAWS, assay_case_format(&wrong, text),
                      found);
}
