#include "engine/downloads.h"

void downloads_add(downloads *list, void *to_host, const void *from, size_t bytes) {
    list->of[list->n++] = (assay_download){.to_host = to_host, .from = from, .bytes = bytes};
}

assay_status downloads_run(downloads *list, const assay_device *device) {
    const int32_t n = list->n;
    assay_status status = ASSAY_OK;
    list->n = 0;
    if (device->download_all)
        return device->download_all(list->of, n);
    for (int32_t i = 0; status == ASSAY_OK && i < n; ++i)
        status = device->download(list->of[i].to_host, list->of[i].from, list->of[i].bytes);
    return status;
}
