/*
 * The one narrow door between the engine and a variant: plain memory in, a status out. The runner
 * owns the memory discipline around every call: outputs and workspace prefilled with NaN patterns,
 * guard zones on both sides of every buffer and in the padding between rows, inputs compared byte
 * for byte afterwards, the device's errors collected after every stage. Of an isolated device
 * (isolate.h) the same happens in another process, and no caller knows the difference.
 */
#ifndef ASSAY_ENGINE_RUNNER_H
#define ASSAY_ENGINE_RUNNER_H

#include "assay/device.h"
#include "assay/problem.h"
#include "assay/variant.h"

/* Whether `variant` says that it can do the problem: by its parameters and shapes, in the layout
 * that its case asks for. Looks at no data. ASSAY_ERR_UNSUPPORTED: it cannot. */
assay_status assay_supports(const assay_variant *variant, const assay_device *device,
                            const assay_problem *problem) ASSAY_MUST_CHECK;

/*
 * Runs forward and then backward of `variant` on `device`, in the layout and schedule that the
 * problem's case asks for, and widens its results into `got` (assay_results_init'ed by the caller).
 *   ASSAY_ERR_UNSUPPORTED  the variant cannot do this case here
 *   ASSAY_ERR_KERNEL       it wrote outside, changed an input, declined after it had the data, or
 *                          the device found a defect
 *   other                  memory or device trouble
 */
assay_status assay_run(const assay_variant *variant, const assay_device *device,
                       const assay_problem *problem, assay_results *got) ASSAY_MUST_CHECK;

#endif
