/* How long the oracle takes over a case, by the operator's own count of its work. */
#ifndef ASSAY_ENGINE_ORACLE_PACE_H
#define ASSAY_ENGINE_ORACLE_PACE_H

#include "assay/case.h"
#include "assay/device.h"

typedef enum oracle_pace { ORACLE_QUICK, ORACLE_SECONDS, ORACLE_MINUTES } oracle_pace;

/* `backward`: of both directions. An oracle on the device is quick, and so are products, which run
 * there; others are the host's. */
assay_status oracle_pace_of(const assay_case *c, const assay_device *device, bool backward,
                            oracle_pace *pace) ASSAY_MUST_CHECK;

#endif
