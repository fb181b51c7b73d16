#include "golden/contents.h"

#include <stdlib.h>
#include <string.h>

assay_status golden_contents_add(golden_contents *contents, const char *text) {
    size_t at = 0;
    while (at < contents->count && strcmp(contents->item[at].text, text) < 0)
        ++at;
    if (at < contents->count && strcmp(contents->item[at].text, text) == 0)
        return ASSAY_OK;
    golden_item *item = realloc(contents->item, (contents->count + 1) * sizeof *item);
    if (item == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for the list of golden cases");
    contents->item = item;
    memmove(item + at + 1, item + at, (contents->count - at) * sizeof *item);
    item[at] = (golden_item){0};
    strncpy(item[at].text, text, sizeof item[at].text - 1);
    ++contents->count;
    return ASSAY_OK;
}

void golden_contents_clear(golden_contents *contents) {
    free(contents->item);
    *contents = (golden_contents){0};
}
