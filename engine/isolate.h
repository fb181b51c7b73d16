/*
 * A device whose variants run in processes of their own, one for each variant or one for all. It
 * can be used wherever a device can. The only difference: a variant that crashes, hangs, exits or
 * exhausts memory costs one row and not the run.
 *
 * The guest program holds the variants and the device, no oracle and no golden file; it gets inputs
 * and cotangents through shared memory and leaves its results there. Numbers are judged here, after
 * the guest has answered. Native code may be hostile: the guest is in a sandbox (sandbox/), as far
 * as the system allows one, and assay_isolated_walls() says how far that is.
 */
#ifndef ASSAY_ENGINE_ISOLATE_H
#define ASSAY_ENGINE_ISOLATE_H

#include "assay/device.h"
#include "assay/problem.h"
#include "engine/process/process.h"
#include "engine/sandbox/sandbox.h"

#include <sys/types.h>

typedef struct assay_isolation {
    const char *guest; /* program; NULL: this tree's assay_guest, and assay_kernel_guest, which has
                          no variants, for a kernel file */

    /* A shared object that holds the variant op/variant, beside or in place of a built-in one;
     * NULL: none. It is read once, and never loaded into this process. */
    const char *kernel, *op, *variant;

    /* By which that file's functions are called (binding.h); NULL: it is written for assay. */
    const char *binding;

    /* The interpreter of a file that is Python's; `binding` is then its path, a colon, and the
     * function's name. NULL: it is no such file. */
    const char *python;

    /* A guest whose kernels tell of their accesses; NULL: there is no such guest, or it is not
     * wanted. In every case, whatever its size (variant_run.h). */
    const char *recorded;
    bool recorded_always;

    /* The file's name in commands that messages print; NULL: the path above. */
    const char *source;

    double seconds;     /* of one run, by the wall's clock; each rehearsal is a run */
    double gib;         /* of memory, beyond some copies of the tensors */
    int32_t rehearsals; /* runs on the same elements in another order before the run that counts: a
                           result that a variant keeps from one call for the next is then wrong */
    bool surprise;      /* each time a random number of them, at least 1 */
    bool open;          /* without a sandbox, by the operator's own wish */
    bool together;      /* all variants in one process, which also stays for other operators: where
                           each would need seconds for a GPU's context. The next one may find data
                           that one leaves in memory, and the device keeps released memory
                           (device.h): for honest variants only */

    /* With `together`: the built-in variants' process is one that others ask, too, `shared_pid`,
     * through `shared_channel` (guest_share). Where a run ends that process, or leaves its device
     * without memory, the run is done again in a process of this device's own, and that tells how
     * it ends: another's run may have been the reason. 0: no such process. */
    pid_t shared_pid;
    int shared_channel;
} assay_isolation;

/* Strings in `how` must outlive the device. ASSAY_ERR_FILE when the guest program or the kernel is
 * not there, ASSAY_ERR_USAGE when the kernel file has no such variant. */
assay_status assay_isolate(const assay_device *device, const assay_isolation *how,
                           const assay_device **isolated) ASSAY_MUST_CHECK;
void assay_isolate_end(const assay_device *device);

/* The process for `shared_pid` of several devices that are isolated alike, which are this one. */
assay_status assay_isolate_shared(const char *device, const assay_isolation *how,
                                  process *guest) ASSAY_MUST_CHECK;

/* Whether assay_isolate() made it. Such a device has its identity in its address: a copy of it is
 * no device. */
bool assay_is_isolated(const assay_device *device);

/* The device itself, for trusted code: oracles, the baseline. Returns any other as it is. */
const assay_device *assay_isolated_base(const assay_device *device);

/* The kernel file that holds an isolated device's variant, and its name in messages; NULL when the
 * variant is built in. */
const char *assay_isolated_kernel(const assay_device *device, const assay_variant *variant);
const char *assay_isolated_source(const assay_device *device, const assay_variant *variant);

/* The walls around its guests (sandbox.h): those that all guests had. If no guest has been started
 * yet, it starts one to see its walls. */
assay_status assay_isolated_walls(const assay_device *isolated,
                                  sandbox_walls *walls) ASSAY_MUST_CHECK;

/* Whether a guest can load the kernel file, and its binding's functions are there: for one line
 * ahead of all cases. It asks nothing of a Python function, nor where there is no file. */
assay_status assay_isolated_load(const assay_device *isolated) ASSAY_MUST_CHECK;

/* That file as it was read (kernel_file.h): its hash, and the paths by which child processes load
 * it. NULL when the device has no such file. */
const char *assay_isolated_kernel_hash(const assay_device *isolated);
const char *assay_isolated_kernel_loaded(const assay_device *isolated);

/* A device that runs built-in variants where their accesses are recorded: a race, an access out of
 * bounds and a read of memory that was never written are errors there. Its kernels plan
 * differently, so its numbers differ. NULL: there is no such device. */
const assay_device *assay_isolated_recorder(const assay_device *isolated);
bool assay_isolated_recorder_always(const assay_device *isolated);

/* The path of the guest program that a variant runs in. */
const char *assay_isolated_program(const assay_device *isolated, const assay_variant *variant);

/* Branches of the kernels' code that were taken since they were forgotten, FRAME_EDGES of them as
 * frame.h has them; those of a run that ended with its process are lost. */
const uint8_t *assay_isolated_edges(const assay_device *isolated);
void assay_isolated_forget_edges(const assay_device *isolated);

/* assay_supports() (runner.h) of a variant of an isolated device: asked, and not run. */
assay_status assay_supports_isolated(const assay_variant *variant, const assay_device *isolated,
                                     const assay_problem *problem) ASSAY_MUST_CHECK;

/* assay_run() (runner.h) of a variant of an isolated device. */
assay_status assay_run_isolated(const assay_variant *variant, const assay_device *isolated,
                                const assay_problem *problem, assay_results *got) ASSAY_MUST_CHECK;

#endif
