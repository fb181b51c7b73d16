#include "bench/profile/record.h"

#include <stdlib.h>

assay_status records_add(profile_records *records, const profile_record *record) {
    if (records->count == records->room) {
        const int64_t room = records->room == 0 ? 256 : 2 * records->room;
        profile_record *more = realloc(records->record, (size_t)room * sizeof *more);
        if (more == NULL)
            return assay_fail(ASSAY_ERR_MEMORY, "no memory for what was recorded; profile a "
                                                "smaller case");
        records->record = more;
        records->room = room;
    }
    records->record[records->count++] = *record;
    return ASSAY_OK;
}

void records_clear(profile_records *records) {
    free(records->record);
    *records = (profile_records){0};
}
