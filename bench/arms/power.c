#include "bench/arms/power.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libnvidia-ml.so.1"

/* Declared as in nvml.h, which only CUDA's toolkit brings: every result but 0 is an error. */
enum { NVML_CLOCK_SM = 1 };
typedef struct nvml_device_st *nvml_device;

static struct {
    bool tried;
    nvml_device gpu; /* NULL: none */
    int (*init)(void);
    int (*handle)(unsigned index, nvml_device *gpu);
    int (*clock)(nvml_device gpu, int which, unsigned *mhz);
    int (*power)(nvml_device gpu, unsigned *milliwatt);
} nvml;

/* ISO C has no cast from an object to a function. */
static bool find(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

/* NVML counts all GPUs, whichever of them CUDA was given: the number of CUDA's first. */
static unsigned first_gpu(void) {
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    return list ? (unsigned)strtoul(list, NULL, 10) : 0;
}

/* The library stays loaded. */
static void open_once(void) {
    nvml.tried = true;
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library && find(library, "nvmlInit_v2", &nvml.init) &&
        find(library, "nvmlDeviceGetHandleByIndex_v2", &nvml.handle) &&
        find(library, "nvmlDeviceGetClockInfo", &nvml.clock) &&
        find(library, "nvmlDeviceGetPowerUsage", &nvml.power) && nvml.init() == 0 &&
        nvml.handle(first_gpu(), &nvml.gpu) != 0)
        nvml.gpu = NULL;
}

bool power_read(double *sm_clock_mhz, double *watt) {
    unsigned mhz = 0, milliwatt = 0;
    if (!nvml.tried)
        open_once();
    const bool read = nvml.gpu && nvml.clock(nvml.gpu, NVML_CLOCK_SM, &mhz) == 0 &&
                      nvml.power(nvml.gpu, &milliwatt) == 0;
    *sm_clock_mhz = read ? mhz : 0;
    *watt = read ? milliwatt / 1e3 : 0;
    return read;
}
