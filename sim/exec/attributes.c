#include "sim/exec/attributes.h"

#include <stdlib.h>
#include <string.h>

struct exec_attribute {
    int id;
    char value[EXEC_ATTRIBUTE_BYTES];
};

static struct exec_attribute *find(const exec_attributes *list, int id) {
    for (size_t i = 0; i < list->n; ++i)
        if (list->attribute[i].id == id)
            return &list->attribute[i];
    return NULL;
}

exec_error exec_attribute_set(exec_attributes *list, int id, const void *value) {
    struct exec_attribute *a = find(list, id);
    if (a == NULL) {
        a = realloc(list->attribute, (list->n + 1) * sizeof *a);
        if (a == NULL)
            return EXEC_OUT_OF_MEMORY;
        list->attribute = a;
        a = &a[list->n++];
        a->id = id;
    }
    memcpy(a->value, value, EXEC_ATTRIBUTE_BYTES);
    return EXEC_SUCCESS;
}

void exec_attribute_get(const exec_attributes *list, int id, void *value) {
    const struct exec_attribute *a = find(list, id);
    if (a != NULL)
        memcpy(value, a->value, EXEC_ATTRIBUTE_BYTES);
    else
        memset(value, 0, EXEC_ATTRIBUTE_BYTES);
}

exec_error exec_attributes_copy(exec_attributes *to, const exec_attributes *from) {
    exec_attributes fresh = {0};
    for (size_t i = 0; i < from->n; ++i)
        if (exec_attribute_set(&fresh, from->attribute[i].id, from->attribute[i].value) !=
            EXEC_SUCCESS) {
            exec_attributes_free(&fresh);
            return EXEC_OUT_OF_MEMORY;
        }
    exec_attributes_free(to);
    *to = fresh;
    return EXEC_SUCCESS;
}

void exec_attributes_free(exec_attributes *list) {
    free(list->attribute);
    *list = (exec_attributes){0};
}
