/* Apart from the check itself, which brings the oracles along: guests say places, too. */
#include "engine/check.h"

#include <stdio.h>

const char *assay_index_text(int32_t rank, const int64_t *shape, int64_t index, char text[128]) {
    int64_t place[ASSAY_MAX_RANK];
    text[0] = '\0';
    if (index < 0)
        return text;
    for (int32_t a = rank - 1; a >= 0; --a) {
        place[a] = shape[a] > 0 ? index % shape[a] : 0;
        index = shape[a] > 0 ? index / shape[a] : 0;
    }
    size_t used = (size_t)snprintf(text, 128, "(");
    for (int32_t a = 0; a < rank && used < 100; ++a)
        used +=
            (size_t)snprintf(text + used, 128 - used, "%s%lld", a ? ", " : "", (long long)place[a]);
    snprintf(text + used, 128 - used, ")");
    return text;
}
