#include "cli/cli.h"

assay_status assay_cli_open_device(const assay_cli_args *args, const assay_device **device) {
    if (args->device != NULL)
        return assay_device_open(args->device, device);
    const assay_status status = assay_device_open("cuda", device);
    return status == ASSAY_ERR_UNSUPPORTED ? assay_device_open("sim", device) : status;
}
