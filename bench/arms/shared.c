#include "bench/arms/shared.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

void shared_clear(shared *s) {
    if (s->data)
        (void)munmap(s->data, s->bytes);
    *s = (shared){0};
}

assay_status shared_map(shared *s) {
    struct stat info;
    shared_clear(s);
    if (fstat(SHARED_FILE, &info) != 0 || info.st_size <= 0)
        return assay_fail(ASSAY_ERR_FILE,
                          "there is no shared memory: start an arm with it open as file "
                          "descriptor %d, as large as the tensors",
                          SHARED_FILE);
    void *data = mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_NORESERVE, SHARED_FILE, 0);
    if (data == MAP_FAILED)
        return assay_fail(ASSAY_ERR_MEMORY, "cannot map %lld bytes of shared memory: %s",
                          (long long)info.st_size, strerror(errno));
    *s = (shared){.data = data, .bytes = (size_t)info.st_size};
    return ASSAY_OK;
}
