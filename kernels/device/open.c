/* Finds a device by its name. The GPU's is a module, loaded here so that a program needs no CUDA
 * library to start. */
#include "assay/device.h"
#include "kernels/sim/sim.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CUDA_DRIVER "libcuda.so.1"
#define CUDA_MODULE "libassay_cuda.so"

static const char *program_directory(char path[PATH_MAX]) {
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (n < 0)
        return NULL;
    path[n] = '\0';
    return dirname(path);
}

/* Where the module is: $ASSAY_MODULE_DIR, beside the program, or where it was built. */
static bool find_module(char path[PATH_MAX]) {
    char program[PATH_MAX];
    const char *directories[] = {getenv("ASSAY_MODULE_DIR"), program_directory(program),
                                 ASSAY_MODULE_DIR};
    for (size_t i = 0; i < sizeof directories / sizeof directories[0]; ++i) {
        if (!directories[i])
            continue;
        int n = snprintf(path, PATH_MAX, "%s/" CUDA_MODULE, directories[i]);
        if (n < PATH_MAX && access(path, R_OK) == 0)
            return true;
    }
    return false;
}

/* The module and its driver stay loaded: variants and their kernels live in it. */
static assay_status load_cuda(const assay_device **device) {
    char path[PATH_MAX];
    if (!dlopen(CUDA_DRIVER, RTLD_NOW | RTLD_GLOBAL))
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "cuda: no NVIDIA driver on this machine (" CUDA_DRIVER
                          " not found); use --device sim");
    if (!find_module(path))
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "cuda: " CUDA_MODULE " is not built; configure with -DASSAY_CUDA=ON, or "
                          "set ASSAY_MODULE_DIR to its directory");
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module)
        return assay_fail(ASSAY_ERR_DEVICE, "cuda: cannot load the module: %s", dlerror());
    void *symbol = dlsym(module, ASSAY_DEVICE_ENTRY);
    if (!symbol)
        return assay_fail(ASSAY_ERR_DEVICE, "cuda: %s has no " ASSAY_DEVICE_ENTRY "; rebuild it",
                          path);
    assay_device_entry entry;
    memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast from an object to a function */
    *device = entry();
    return ASSAY_OK;
}

static assay_status open_cuda(const assay_device **device) {
    static const assay_device *cuda;
    char text[ASSAY_DEVICE_TEXT];
    assay_status status = cuda ? ASSAY_OK : load_cuda(&cuda);
    if (status == ASSAY_OK)
        status = cuda->probe(text);
    if (status == ASSAY_OK)
        *device = cuda;
    return status;
}

assay_status assay_device_open(const char *name, const assay_device **device) {
    *device = NULL;
    if (strcmp(name, "sim") == 0) {
        *device = assay_sim_device();
        return ASSAY_OK;
    }
    if (strcmp(name, "cuda") == 0)
        return open_cuda(device);
    return assay_fail(ASSAY_ERR_USAGE, "%s: no such device; there are sim and cuda", name);
}
