#include "bench/arms/timer.h"

#include "device/module.h"

#include <string.h>

assay_status arm_timer_find(const assay_device *device, const arm_timer **timer) {
    *timer = &arm_timer_host;
    if (device->simulated)
        return ASSAY_OK;
    void *symbol;
    const assay_status status = assay_module_load(ARM_TIMER_MODULE, ARM_TIMER_ENTRY, &symbol);
    if (status != ASSAY_OK)
        return status;
    arm_timer_entry entry;
    memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast from an object to a function */
    *timer = entry();
    return ASSAY_OK;
}
