#include "sim/exec/error.h"

#include <stddef.h>

typedef struct row {
    int number;
    const char *runtime, *driver, *text;
} row;

static const row rows[] = {
#define EXEC_ERROR(number, runtime, driver, text) {number, runtime, driver, text},
#include "sim/exec/error.def"
#undef EXEC_ERROR
};

static const row *find(int error) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
        if (rows[i].number == error)
            return &rows[i];
    return NULL;
}

const char *exec_error_runtime_name(int error) {
    const row *r = find(error);
    return r != NULL ? r->runtime : NULL;
}

const char *exec_error_driver_name(int error) {
    const row *r = find(error);
    return r != NULL ? r->driver : NULL;
}

const char *exec_error_text(int error) {
    const row *r = find(error);
    return r != NULL ? r->text : NULL;
}
