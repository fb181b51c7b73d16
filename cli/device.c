#include "cli/cli.h"
#include "core/place.h"
#include "engine/isolate.h"
#include "engine/process/process.h"

#include <limits.h>
#include <math.h>
#include <unistd.h>

/* Where the user names no limits: a case of the sets takes seconds at most. */
static const double seconds = 60, gib = 8;

/* A kernel that is right only in its first calls, or in some of them, has to be lucky each time. */
enum { CERTIFY_REHEARSALS = 8 };

assay_status assay_cli_open_device(const assay_cli_args *args, const assay_device **device) {
    if (args->device != NULL)
        return assay_device_open(args->device, device);
    const assay_status status = assay_device_open("cuda", device);
    return status == ASSAY_ERR_UNSUPPORTED ? assay_device_open("sim", device) : status;
}

static void tell_capability(int channel, void *context) {
    const assay_device *device;
    (void)channel;
    (void)context;
    _exit(assay_device_open("cuda", &device) == ASSAY_OK ? device->capability() : 0);
}

int32_t assay_cli_capability(void) {
    process p;
    if (process_fork(&p, tell_capability, NULL) != 0)
        return 0;
    process_finish(&p, &(process_limits){.seconds = INFINITY, .bytes = INFINITY});
    return p.end == PROCESS_EXIT ? p.code : 0;
}

/* This tree's guest whose kernels tell of their accesses, if it was built. */
static const char *find_recorded(const assay_cli_args *args, char path[PATH_MAX]) {
    const bool there = !args->no_race && assay_place("assay_recorded_guest", path) == ASSAY_OK &&
                       access(path, X_OK) == 0;
    return there ? path : NULL;
}

assay_status assay_cli_isolate(const assay_cli_args *args, const assay_device *device,
                               const assay_device **isolated) {
    static char recorded[PATH_MAX];
    *isolated = device;
    if (args->in_process)
        return ASSAY_OK;
    const assay_cli_target *target = args->kernel != NULL ? &args->target[0] : NULL;
    const assay_status status =
        assay_isolate(device,
                      &(assay_isolation){
                          .kernel = args->kernel,
                          .source = args->kernel_words,
                          .binding = args->binding,
                          .python = args->python,
                          .op = target != NULL ? target->op->name : NULL,
                          .variant = target != NULL ? target->variant : NULL,
                          .recorded = find_recorded(args, recorded),
                          .recorded_always = args->race,
                          .seconds = args->time_limit > 0 ? args->time_limit : seconds,
                          .gib = args->memory_limit > 0 ? args->memory_limit : gib,
                          .rehearsals = args->certify ? CERTIFY_REHEARSALS : 1,
                          .surprise = args->certify,
                          .open = args->no_sandbox,
                      },
                      isolated);
    return status == ASSAY_OK ? assay_isolated_load(*isolated) : status;
}
