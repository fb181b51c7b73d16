/* The stand-ins for CUDA's libraries, and how a process that is started finds them. */
#include "cli/exec.h"
#include "core/place.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

assay_status exec_stand_ins(char folder[PATH_MAX]) {
    char library[PATH_MAX + 32];
    const assay_status status = assay_place("cuda", folder);
    if (status != ASSAY_OK)
        return status;
    snprintf(library, sizeof library, "%s/libassay_exec.so", folder);
    if (access(library, R_OK) == 0)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_FILE,
                      "%s: %s; build it with cmake --build, in a build without sanitizers", library,
                      strerror(errno));
}

bool exec_prepend(const char *variable, const char *value) {
    char *joined = NULL;
    const char *old = getenv(variable);
    if (old == NULL || *old == '\0')
        return setenv(variable, value, 1) == 0;
    if (asprintf(&joined, "%s:%s", value, old) < 0)
        return false;
    const bool done = setenv(variable, joined, 1) == 0;
    free(joined);
    return done;
}
