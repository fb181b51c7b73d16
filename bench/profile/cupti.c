/*
 * The recorder: CUPTI's activity API. A module of its own, so that assay needs no CUPTI to start;
 * it is loaded into the process that calls the variant. Records are kept as they come, in CUPTI's
 * own thread, until they are taken.
 */
#include "bench/profile/kernel_name.h"
#include "bench/profile/record.h"

#include <cuda.h>
#include <cupti.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER = 1 << 20, ALIGNMENT = 8 };

static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                           CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET,
                                           CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static struct {
    pthread_mutex_t lock; /* of what follows */
    profile_records records;
    bool failed; /* a record was lost for want of memory */
    bool registered;
} r = {.lock = PTHREAD_MUTEX_INITIALIZER};

static assay_status check(CUptiResult result, const char *call) {
    const char *text = "unknown error";
    if (result == CUPTI_SUCCESS)
        return ASSAY_OK;
    (void)cuptiGetResultString(result, &text);
    return assay_fail(
        ASSAY_ERR_DEVICE,
        "cuda: %s: %s; another profiler may be attached, or this user may not profile", call, text);
}

/* ---- records ---- */

/* The types of CUDA 12, which later CUPTIs fill as well: theirs only append. */
static void from_kernel(const CUpti_ActivityKernel9 *from, profile_record *to) {
    *to = (profile_record){
        .kind = PROFILE_KERNEL,
        .start = from->start,
        .end = from->end,
        .correlation = from->correlationId,
        .row = from->streamId,
        .grid = {(uint32_t)from->gridX, (uint32_t)from->gridY, (uint32_t)from->gridZ},
        .block = {(uint32_t)from->blockX, (uint32_t)from->blockY, (uint32_t)from->blockZ},
        .registers = from->registersPerThread,
        .static_shared = (uint32_t)from->staticSharedMemory,
        .dynamic_shared = (uint32_t)from->dynamicSharedMemory,
        .local = from->localMemoryPerThread};
    kernel_name(from->name != NULL ? from->name : "a kernel", to->name);
}

static const char *copy_name(uint8_t kind) {
    switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
        return "copy, host to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
        return "copy, device to host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
        return "copy, device to device";
    default:
        return "copy";
    }
}

static void from_copy(const CUpti_ActivityMemcpy5 *from, profile_record *to) {
    *to = (profile_record){.kind = PROFILE_COPY,
                           .start = from->start,
                           .end = from->end,
                           .correlation = from->correlationId,
                           .row = from->streamId,
                           .bytes = from->bytes};
    snprintf(to->name, sizeof to->name, "%s", copy_name(from->copyKind));
}

static void from_fill(const CUpti_ActivityMemset4 *from, profile_record *to) {
    *to = (profile_record){.kind = PROFILE_FILL,
                           .name = "fill",
                           .start = from->start,
                           .end = from->end,
                           .correlation = from->correlationId,
                           .row = from->streamId,
                           .bytes = from->bytes};
}

/* "cudaLaunchKernel_v7000" is cudaLaunchKernel. */
static void from_call(const CUpti_ActivityAPI *from, CUpti_CallbackDomain domain,
                      profile_record *to) {
    const char *name = NULL;
    *to = (profile_record){.kind = PROFILE_API,
                           .start = from->start,
                           .end = from->end,
                           .correlation = from->correlationId,
                           .row = from->threadId};
    if (cuptiGetCallbackName(domain, from->cbid, &name) != CUPTI_SUCCESS || name == NULL)
        name = "a call";
    const char *version = strstr(name, "_v");
    const size_t length = version != NULL ? (size_t)(version - name) : strlen(name);
    snprintf(to->name, sizeof to->name, "%.*s", (int)length, name);
}

/* False: of a kind that is not asked for. */
static bool convert(const CUpti_Activity *from, profile_record *to) {
    const void *record = from;
    switch (from->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        from_kernel(record, to);
        return true;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        from_copy(record, to);
        return true;
    case CUPTI_ACTIVITY_KIND_MEMSET:
        from_fill(record, to);
        return true;
    case CUPTI_ACTIVITY_KIND_RUNTIME:
        from_call(record, CUPTI_CB_DOMAIN_RUNTIME_API, to);
        return true;
    case CUPTI_ACTIVITY_KIND_DRIVER:
        from_call(record, CUPTI_CB_DOMAIN_DRIVER_API, to);
        return true;
    default:
        return false;
    }
}

static void keep(const profile_record *record) {
    pthread_mutex_lock(&r.lock);
    r.failed = records_add(&r.records, record) != ASSAY_OK || r.failed;
    pthread_mutex_unlock(&r.lock);
}

/* ---- CUPTI's buffers ---- */

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *most) {
    *buffer = aligned_alloc(ALIGNMENT, BUFFER);
    *size = *buffer != NULL ? BUFFER : 0;
    *most = 0;
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                 size_t valid) {
    CUpti_Activity *activity = NULL;
    profile_record record;
    size_t dropped = 0;
    (void)size;
    while (buffer != NULL && valid > 0 &&
           cuptiActivityGetNextRecord(buffer, valid, &activity) == CUPTI_SUCCESS)
        if (convert(activity, &record))
            keep(&record);
    if (cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS && dropped) {
        pthread_mutex_lock(&r.lock);
        r.failed = true;
        pthread_mutex_unlock(&r.lock);
    }
    free(buffer);
}

/* ---- the recorder ---- */

static void forget(void) {
    pthread_mutex_lock(&r.lock);
    r.records.count = 0;
    r.failed = false;
    pthread_mutex_unlock(&r.lock);
}

static void stop(void) {
    for (size_t k = 0; k < KINDS; ++k)
        (void)cuptiActivityDisable(kinds[k]);
    (void)cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    pthread_mutex_lock(&r.lock);
    records_clear(&r.records);
    pthread_mutex_unlock(&r.lock);
}

static assay_status start(void) {
    assay_status status = ASSAY_OK;
    if (!r.registered)
        status = check(cuptiActivityRegisterCallbacks(give_buffer, take_buffer),
                       "cuptiActivityRegisterCallbacks");
    r.registered = r.registered || status == ASSAY_OK;
    for (size_t k = 0; status == ASSAY_OK && k < KINDS; ++k)
        status = check(cuptiActivityEnable(kinds[k]), "cuptiActivityEnable");
    forget();
    return status;
}

static assay_status take(profile_taker taker, void *context) {
    assay_status status =
        check(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "cuptiActivityFlushAll");
    pthread_mutex_lock(&r.lock);
    if (status == ASSAY_OK && taker != NULL && r.failed)
        status = assay_fail(ASSAY_ERR_MEMORY, "records of the GPU's activity were lost; profile a "
                                              "smaller case");
    for (int64_t i = 0; status == ASSAY_OK && taker != NULL && i < r.records.count; ++i)
        status = taker(&r.records.record[i], context);
    pthread_mutex_unlock(&r.lock);
    forget();
    return status;
}

static uint64_t now(void) {
    uint64_t time = 0;
    (void)cuptiGetTimestamp(&time);
    return time;
}

static assay_status limits(profile_limits *l) {
    const struct {
        CUdevice_attribute attribute;
        uint32_t *value;
    } asked[] = {
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &l->threads},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, &l->blocks},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, &l->registers},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, &l->shared},
        {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, &l->reserved_shared},
    };
    CUdevice device;
    CUresult result = cuInit(0);
    if (result == CUDA_SUCCESS)
        result = cuDeviceGet(&device, 0);
    for (size_t i = 0; result == CUDA_SUCCESS && i < sizeof asked / sizeof *asked; ++i) {
        int value = 0;
        result = cuDeviceGetAttribute(&value, asked[i].attribute, device);
        *asked[i].value = (uint32_t)value;
    }
    if (result == CUDA_SUCCESS)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_DEVICE, "cuda: the limits of GPU 0 cannot be read: error %d",
                      (int)result);
}

__attribute__((visibility("default"))) const profile_recorder *assay_profile_recorder(void);
const profile_recorder *assay_profile_recorder(void) {
    static const profile_recorder recorder = {limits, start, now, take, stop};
    return &recorder;
}
