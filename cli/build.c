/* assay build: a kernel file, compiled as check compiles it. */
#include "cli/cli.h"
#include "cli/compile.h"

#include <limits.h>
#include <string.h>

assay_exit assay_cli_build(const assay_cli_args *args) {
    char path[PATH_MAX];
    const char *source = args->source;
    if (source == NULL)
        return assay_cli_complain(assay_fail(ASSAY_ERR_USAGE, "build: name a kernel file"));
    const char *slash = strrchr(source, '/'), *name = slash != NULL ? slash + 1 : source;
    const char *dot = strrchr(name, '.');
    const int length = dot != NULL ? (int)(dot - name) : (int)strlen(name);
    snprintf(path, sizeof path, "./%.*s.so", length, name);
    const char *object = args->output != NULL ? args->output : path;
    const char *device = args->device != NULL         ? args->device
                         : assay_cli_capability() > 0 ? "cuda"
                                                      : "sim";
    const assay_status status = compile_kernel(source, object, device, args->out.stream);
    if (status != ASSAY_OK)
        return assay_cli_complain(status);
    if (!args->quiet)
        fprintf(args->out.stream, "for %s: assay check OP/NAME --kernel %s --device %s\n", device,
                object, device);
    return ASSAY_EXIT_PASSED;
}
