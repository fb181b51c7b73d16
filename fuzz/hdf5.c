/*
 * What opening a file costs HDF5, beyond reading it. Its cache of metadata is more than half a
 * megabyte, which would be mapped, cleared page by page and unmapped for each file: without limits
 * HDF5 keeps what was freed. Where a checksum is wrong it sleeps for a nanosecond, to which Linux
 * adds its slack, by default 50 microseconds.
 */
#include "fuzz/fuzz.h"

#include <hdf5.h>
#include <stdbool.h>
#include <sys/prctl.h>

void fuzz_hasten_hdf5(void) {
    static bool done = false;
    if (done)
        return;
    (void)H5dont_atexit(); /* as the readers ask for, and only the first call to HDF5 may */
    FUZZ_EXPECT(H5set_free_list_limits(-1, -1, -1, -1, -1, -1) >= 0);
    FUZZ_EXPECT(prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL) == 0);
    done = true;
}
