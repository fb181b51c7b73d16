#include "sim/exec/handles.h"

#include "sim/exec/table.h"

static exec_table objects;

assay_status exec_handle_add(const void *object, exec_handle kind) {
    return exec_table_put(&objects, object, (void *)((uintptr_t)kind + 1));
}

void exec_handle_remove(const void *object) {
    exec_table_remove(&objects, object);
}

bool exec_handle_is(const void *object, exec_handle kind) {
    return (uintptr_t)exec_table_get(&objects, object) == (uintptr_t)kind + 1;
}
