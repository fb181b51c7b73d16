#include "cli/cli.h"
#include "engine/isolate.h"

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

assay_status assay_cli_isolate(const assay_cli_args *args, const assay_device *device,
                               const assay_device **isolated) {
    *isolated = device;
    if (args->in_process)
        return ASSAY_OK;
    const assay_cli_target *target = args->kernel != NULL ? &args->target[0] : NULL;
    return assay_isolate(device,
                         &(assay_isolation){
                             .kernel = args->kernel,
                             .op = target != NULL ? target->op->name : NULL,
                             .variant = target != NULL ? target->variant : NULL,
                             .seconds = args->time_limit > 0 ? args->time_limit : seconds,
                             .gib = args->memory_limit > 0 ? args->memory_limit : gib,
                             .rehearsals = args->certify ? CERTIFY_REHEARSALS : 1,
                             .surprise = args->certify,
                         },
                         isolated);
}
