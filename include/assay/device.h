/*
 * A device: where a variant's kernels run. `sim` is always there; `cuda` is a module that is
 * loaded when asked for, so that a program needs no CUDA library to start.
 */
#ifndef ASSAY_DEVICE_H
#define ASSAY_DEVICE_H

#include "assay/case.h"
#include "assay/device_oracle.h"
#include "assay/status.h"
#include "assay/variant.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ASSAY_DEVICE_TEXT = 256 };

typedef assay_status (*assay_gemm)(bool ta, bool tb, int64_t m, int64_t n, int64_t k,
                                   const double *a, int64_t lda, const double *b, int64_t ldb,
                                   double beta, double *c, int64_t ldc);

/* A copy from the device's memory to the host's. */
typedef struct assay_download {
    void *to_host;
    const void *from;
    size_t bytes;
} assay_download;

typedef struct assay_device {
    const char *name; /* "sim", "cuda" */

    /* Whether it is simulated on the host: its memory is the host's, its variants are part of the
     * program, and times on it measure nothing. */
    bool simulated;

    /* Whether it can run here; fills a line about the device and its driver. */
    assay_status (*probe)(char text[ASSAY_DEVICE_TEXT]);

    /* Memory that kernels may use, aligned to 256 bytes. `release(NULL)` does nothing. */
    assay_status (*alloc)(size_t bytes, void **memory);
    void (*release)(void *memory);

    /* From now on a little released memory is kept for the next request, which is faster. Called
     * once, before the first alloc. NULL: keeping gains nothing. */
    void (*keep_memory)(void);

    /* For a process that runs variants in several threads, each behind this call: what the thread
     * asks of the device from then on is queued in a stream of its own. NULL: runs must follow each
     * other. And the stream that calls get; NULL: the default stream, always. */
    assay_status (*begin_thread)(void);
    void *(*stream)(void);

    /* Upload copies before what is queued later in the default stream; `from_host` is free again
     * when it returns. Download waits for what was queued there. */
    assay_status (*upload)(void *to, const void *from_host, size_t bytes);
    assay_status (*download)(void *to_host, const void *from, size_t bytes);

    /* Several downloads with one wait for all of them. NULL: a download does not wait. */
    assay_status (*download_all)(const assay_download *of, int32_t n);

    /* Marks bytes as out of bounds (on) or usable again (off), where the build can trap accesses
     * to them; otherwise does nothing. */
    void (*guard)(void *memory, size_t bytes, bool on);

    /* Where work is queued and done in the order of the default stream; all NULL where a launch is
     * done when it returns. `pause` queues a wait that lasts until a moment after resume(), and
     * milliseconds at most, for a variant may wait for its stream itself (after keep_memory, a
     * shorter one now and then). `blank` queues bytes that are a NaN, `copy` a copy within the
     * device's memory. */
    assay_status (*pause)(void);
    void (*resume)(void);
    assay_status (*blank)(void *memory, size_t bytes);
    assay_status (*copy)(void *to, const void *from, size_t bytes);

    /* A run begins. How the simulated device orders its threads in the launches to come, and that
     * finish() is to tell of these alone; others ignore it. */
    void (*schedule)(assay_schedule schedule, uint64_t seed);

    /* The number of multiprocessors that its kernels' plans count on, and a function that makes it
     * plan from now on as a device with another number does (0: its own); NULL: it cannot. */
    int32_t multiprocessors;
    void (*plan_for)(int32_t multiprocessors);

    /* Its compute capability, 90 for 9.0; NULL: it has none. */
    int32_t (*capability)(void);

    /* Waits for all launches. ASSAY_ERR_KERNEL with the first defect found since the last call,
     * ASSAY_ERR_DEVICE when the device failed. */
    assay_status (*finish)(void);

    /* C (m, n) = op(A)·op(B) + beta·C on host memory, row-major fp64 as blas_gemm
     * (oracles/common/blas.h) has it, computed on the device; NULL where that gains nothing. An
     * error leaves C as it is. */
    assay_gemm gemm;

    /* The variants compiled for this device, and the oracles. */
    const assay_variant *const *variants;
    int32_t n_variants;
    const assay_device_oracle *const *oracles;
    int32_t n_oracles;
} assay_device;

/* The device of that name: ASSAY_ERR_USAGE for an unknown name, ASSAY_ERR_UNSUPPORTED with the
 * reason when it cannot run here (not built, no driver, no GPU), ASSAY_ERR_MEMORY when other
 * programs have all of its memory. */
assay_status assay_device_open(const char *name, const assay_device **device) ASSAY_MUST_CHECK;

/* The same without oracles and gemm. Released memory is given back at once, until keep_memory is
 * called. For the process that variants run in: memory that a variant keeps must show there. */
assay_status assay_device_open_bare(const char *name, const assay_device **device) ASSAY_MUST_CHECK;

/* The same without variants, and without the libraries that ours need: code that is not ours may
 * bring other versions of these. */
assay_status assay_device_open_alone(const char *name,
                                     const assay_device **device) ASSAY_MUST_CHECK;

/* A device's two modules export functions of these names and types: one gives the device with its
 * variants, the other the device's help for oracles. */
#define ASSAY_DEVICE_ENTRY "assay_device_module"
typedef const assay_device *(*assay_device_entry)(void);

typedef struct assay_device_aid {
    assay_gemm gemm;
    const assay_device_oracle *const *oracles;
    int32_t n_oracles;
} assay_device_aid;

#define ASSAY_DEVICE_AID_ENTRY "assay_device_aid_module"
typedef const assay_device_aid *(*assay_device_aid_entry)(void);

#ifdef __cplusplus
}
#endif

#endif
