#include "sim/ptx/name.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Itanium's names: _Z 3add I..., _ZN 3foo 3add I... E; each identifier follows its length. */
int ptx_own_name(const char *mangled, const char **name) {
    const char *at = mangled;
    *name = mangled;
    if (strncmp(at, "_Z", 2) != 0)
        return (int)strlen(mangled);
    at += 2;
    while (*at == 'N' || *at == 'L' || *at == 'K')
        ++at;
    int length = 0;
    while (isdigit((unsigned char)*at)) {
        char *behind;
        const long n = strtol(at, &behind, 10);
        if (n <= 0 || (size_t)n > strlen(behind))
            break;
        *name = behind;
        length = (int)n;
        at = behind + n;
        while (*at == 'L')
            ++at;
    }
    return length > 0 ? length : (int)strlen(mangled);
}
