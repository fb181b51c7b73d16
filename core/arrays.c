#include "assay/op.h"
#include "assay/relation.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

assay_status assay_arrays_init(assay_arrays *arrays, int32_t count) {
    *arrays = (assay_arrays){.count = count};
    if (count == 0)
        return ASSAY_OK;
    arrays->size = calloc((size_t)count, sizeof *arrays->size);
    arrays->data = calloc((size_t)count, sizeof *arrays->data);
    if (arrays->size == NULL || arrays->data == NULL) {
        arrays->count = 0;
        assay_arrays_clear(arrays);
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for a list of %" PRId32 " arrays", count);
    }
    return ASSAY_OK;
}

/* Larger than all memory is refused here: the kernel would grant it and kill the process later. */
static bool fits_host(uint64_t elements) {
    const double pages = (double)sysconf(_SC_PHYS_PAGES);
    const double page = (double)sysconf(_SC_PAGESIZE);
    return (double)elements * sizeof(double) <= pages * page;
}

assay_status assay_arrays_add(assay_arrays *arrays, int32_t i, int64_t size) {
    /* An empty array is present all the same, so it gets an address of its own. */
    const uint64_t elements = size > 0 ? (uint64_t)size : 1;
    double *data = fits_host(elements) ? calloc(elements, sizeof *data) : NULL;
    if (data == NULL)
        return assay_fail(ASSAY_ERR_MEMORY,
                          "an fp64 array of %" PRId64
                          " elements needs %.3g GiB, more than this host gives; "
                          "choose a smaller case",
                          size, (double)elements * sizeof *data / 0x1p30);
    free(arrays->data[i]);
    arrays->data[i] = data;
    arrays->size[i] = size;
    return ASSAY_OK;
}

void assay_arrays_drop(assay_arrays *arrays, int32_t i) {
    free(arrays->data[i]);
    arrays->data[i] = NULL;
    arrays->size[i] = 0;
}

void assay_arrays_clear(assay_arrays *arrays) {
    for (int32_t i = 0; i < arrays->count; ++i)
        free(arrays->data[i]);
    free(arrays->data);
    free(arrays->size);
    *arrays = (assay_arrays){0};
}
