/* Finds a device by its name. The GPU's is a module, loaded here so that a program needs no CUDA
 * library to start. */
#include "assay/device.h"
#include "core/place.h"
#include "device/choose.h"
#include "device/module.h"
#include "sim/sim.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define CUDA_DRIVER "libcuda.so.1"
#define CUDA_MODULE "libassay_cuda.so"
#define CUDA_ALONE  "libassay_cuda_alone.so"
#define CUDA_AID    "libassay_cuda_oracles.so"

/* How much of a device a process needs. */
typedef enum extent {
    ALONE, /* its memory */
    BARE,  /* and our variants */
    WHOLE, /* and what helps the oracles */
} extent;

/* Modules and the driver stay loaded: variants and their kernels live in them. */
assay_status assay_module_load(const char *name, const char *entry, void **symbol) {
    char path[PATH_MAX];
    const assay_status placed = assay_place(name, path);
    if (placed != ASSAY_OK)
        return placed;
    if (access(path, R_OK) != 0)
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "cuda: %s is not there; configure with -DASSAY_CUDA=ON and build", path);
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module)
        return assay_fail(ASSAY_ERR_DEVICE, "cuda: cannot load the module: %s", dlerror());
    *symbol = dlsym(module, entry);
    if (!*symbol)
        return assay_fail(ASSAY_ERR_DEVICE, "cuda: %s has no %s; rebuild it", path, entry);
    return ASSAY_OK;
}

static assay_status load_cuda(extent how, assay_device *device) {
    void *symbol;
    if (!dlopen(CUDA_DRIVER, RTLD_NOW | RTLD_GLOBAL))
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "cuda: no NVIDIA driver on this machine (" CUDA_DRIVER
                          " not found); use --device sim");
    const assay_status status =
        assay_module_load(how == ALONE ? CUDA_ALONE : CUDA_MODULE, ASSAY_DEVICE_ENTRY, &symbol);
    if (status != ASSAY_OK)
        return status;
    assay_device_entry entry;
    memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast from an object to a function */
    *device = *entry();
    return ASSAY_OK;
}

static assay_status load_aid(assay_device *device) {
    void *symbol;
    const assay_status status = assay_module_load(CUDA_AID, ASSAY_DEVICE_AID_ENTRY, &symbol);
    if (status != ASSAY_OK)
        return status;
    assay_device_aid_entry entry;
    memcpy(&entry, &symbol, sizeof entry);
    const assay_device_aid *aid = entry();
    device->gemm = aid->gemm;
    device->oracles = aid->oracles;
    device->n_oracles = aid->n_oracles;
    return ASSAY_OK;
}

static assay_status open_cuda(extent how, const assay_device **device) {
    static assay_device cuda;
    char text[ASSAY_DEVICE_TEXT];
    assay_status status = cuda.name ? ASSAY_OK : assay_gpu_take();
    if (status == ASSAY_OK && !cuda.name)
        status = load_cuda(how, &cuda);
    if (status == ASSAY_OK)
        status = cuda.probe(text);
    if (status == ASSAY_OK && how == WHOLE && !cuda.gemm) {
        cuda.keep_memory();
        status = load_aid(&cuda);
    }
    if (status == ASSAY_OK)
        *device = &cuda;
    return status;
}

static assay_status open_device(const char *name, extent how, const assay_device **device) {
    *device = NULL;
    if (strcmp(name, "sim") == 0) {
        *device =
            assay_sim_device(); /* a program that must hold no oracles is linked without them */
        return ASSAY_OK;
    }
    if (strcmp(name, "cuda") == 0)
        return open_cuda(how, device);
    return assay_fail(ASSAY_ERR_USAGE, "%s: no such device; the devices are sim and cuda", name);
}

assay_status assay_device_open(const char *name, const assay_device **device) {
    return open_device(name, WHOLE, device);
}

assay_status assay_device_open_bare(const char *name, const assay_device **device) {
    return open_device(name, BARE, device);
}

assay_status assay_device_open_alone(const char *name, const assay_device **device) {
    return open_device(name, ALONE, device);
}
