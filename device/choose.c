#include "device/choose.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_GPUS = 64 };

/* ---- ctest ---- */

/* The id of the first allocation in "id:1,slots:1;id:3,slots:1". */
static const char *allocated(const assay_gpu_host *host, char list[ASSAY_GPU_LIST]) {
    const char *text = host->variable("CTEST_RESOURCE_GROUP_0_GPUS");
    if (!host->variable("CTEST_RESOURCE_GROUP_COUNT") || !text || strncmp(text, "id:", 3) != 0)
        return NULL;
    const size_t length = strcspn(text + 3, ",;");
    if (length == 0 || length >= ASSAY_GPU_LIST)
        return NULL;
    snprintf(list, ASSAY_GPU_LIST, "%.*s", (int)length, text + 3);
    return list;
}

/* ---- ranks ---- */

/* mpirun's own before Slurm's: a job script of Slurm's has that one set, and hands it on. */
static bool find_rank(const assay_gpu_host *host, int64_t *rank) {
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                        "PMI_LOCAL_RANK", "SLURM_LOCALID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        const char *text = host->variable(names[i]);
        char *end;
        if (!text || *text == '\0')
            continue;
        *rank = strtoll(text, &end, 10);
        if (*end == '\0' && *rank >= 0)
            return true;
    }
    return false;
}

/* The next of a list's entries, up to one that CUDA takes for none, behind which it reads on no
 * further; NULL: there is none. */
static const char *next_entry(const char **rest, size_t *length) {
    const char *entry = *rest;
    *length = strcspn(entry, ",");
    *rest = entry + *length + (entry[*length] == ',');
    return *length > 0 && *entry != '-' ? entry : NULL;
}

static const char *entry_of(const char *visible, int64_t rank, char list[ASSAY_GPU_LIST]) {
    const char *rest = visible;
    size_t length;
    int64_t count = 0;
    while (next_entry(&rest, &length))
        ++count;
    if (count == 0)
        return NULL;
    rest = visible;
    const char *entry = next_entry(&rest, &length);
    for (int64_t i = rank % count; i > 0; --i)
        entry = next_entry(&rest, &length);
    if (!entry || length >= ASSAY_GPU_LIST)
        return NULL;
    snprintf(list, ASSAY_GPU_LIST, "%.*s", (int)length, entry);
    return list;
}

const char *assay_gpu_choose(const assay_gpu_host *host, char list[ASSAY_GPU_LIST]) {
    const char *visible = host->variable(ASSAY_GPUS);
    int64_t rank;
    if (allocated(host, list))
        return list;
    if (!find_rank(host, &rank))
        return NULL;
    if (visible)
        return entry_of(visible, rank, list);
    const int32_t count = host->gpus();
    if (count < 2)
        return NULL;
    snprintf(list, ASSAY_GPU_LIST, "%d", (int)(rank % count));
    return list;
}

/* ---- this process ---- */

static const char *variable(const char *name) {
    return getenv(name);
}

/* The driver's files, one for each GPU that this process may open, so that no library needs to be
 * loaded: CUDA numbers those from 0, whatever their files' numbers. */
static int32_t count_files(void) {
    int32_t count = 0;
    for (int i = 0; i < MOST_GPUS; ++i) {
        char path[32];
        snprintf(path, sizeof path, "/dev/nvidia%d", i);
        count += access(path, R_OK | W_OK) == 0;
    }
    return count;
}

assay_status assay_gpu_take(void) {
    static const assay_gpu_host here = {variable, count_files};
    char list[ASSAY_GPU_LIST];
    const char *chosen = assay_gpu_choose(&here, list);
    if (!chosen || setenv(ASSAY_GPUS, chosen, 1) == 0)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_MEMORY, "no memory for " ASSAY_GPUS "=%s", chosen);
}
