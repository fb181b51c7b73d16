#include "sim/exec/inflate.h"

#include <limits.h>
#if defined(EXEC_ZSTD)
#include <zstd.h>
#endif
#if defined(EXEC_LZ4)
#include <lz4.h>
#endif

#if !defined(EXEC_ZSTD) || !defined(EXEC_LZ4)
static assay_status missing(const char *library, const char *package) {
    return assay_fail(ASSAY_ERR_UNSUPPORTED,
                      "the program's PTX is compressed with %s, and assay was built without it: "
                      "install %s and build assay again, or build the program with nvcc "
                      "--compress-mode=none",
                      library, package);
}
#endif

assay_status exec_inflate_zstd(const void *from, size_t bytes, void *to, size_t room) {
#if defined(EXEC_ZSTD)
    const size_t got = ZSTD_decompress(to, room, from, bytes);
    if (ZSTD_isError(got))
        return assay_fail(ASSAY_ERR_FILE, "the program's PTX, compressed with zstd, is damaged: %s",
                          ZSTD_getErrorName(got));
    if (got != room)
        return assay_fail(ASSAY_ERR_FILE,
                          "the program's PTX, compressed with zstd, has %zu bytes in place of %zu",
                          got, room);
    return ASSAY_OK;
#else
    (void)from, (void)bytes, (void)to, (void)room;
    return missing("zstd", "libzstd-dev");
#endif
}

assay_status exec_inflate_lz4(const void *from, size_t bytes, void *to, size_t room) {
#if defined(EXEC_LZ4)
    const int got = bytes > INT_MAX || room > INT_MAX
                        ? -1
                        : LZ4_decompress_safe(from, to, (int)bytes, (int)room);
    if (got < 0 || (size_t)got != room)
        return assay_fail(ASSAY_ERR_FILE, "the program's PTX, compressed with LZ4, is damaged");
    return ASSAY_OK;
#else
    (void)from, (void)bytes, (void)to, (void)room;
    return missing("LZ4", "liblz4-dev");
#endif
}
