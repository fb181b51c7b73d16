/*
 * Defines the device oracle that an oracles/<op>/device.cu file implements:
 *
 *     ASSAY_DEVICE_ORACLE(attention) = {
 *         .op = "attention", .device = ASSAY_DEVICE_NAME, .workspace = workspace, .run = run};
 */
#ifndef ASSAY_ORACLES_COMMON_DEVICE_ORACLE_H
#define ASSAY_ORACLES_COMMON_DEVICE_ORACLE_H

#include "assay/device_oracle.h"
#include "device/kernel.h"

#define ASSAY_DEVICE_ORACLE(op)             ASSAY_DEVICE_ORACLE_FOR(op, ASSAY_DEVICE)
#define ASSAY_DEVICE_ORACLE_FOR(op, device) ASSAY_DEVICE_ORACLE_SYMBOL(op, device)
#define ASSAY_DEVICE_ORACLE_SYMBOL(op, device)                                                     \
    extern "C" const assay_device_oracle assay_device_oracle_##op##_##device;                      \
    const assay_device_oracle assay_device_oracle_##op##_##device

#endif
