/* The linker of PTX. Its inputs become one text, which the program loads in place of a cubin. */
#include "sim/exec/driver/driver.h"
#include "sim/exec/fatbin.h"
#include "sim/exec/handles.h"
#include "sim/exec/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- options ---- */

enum { WALL_TIME = 2, INFO_LOG, INFO_BYTES, ERROR_LOG, ERROR_BYTES };

static void **value_of(const driver_jit *jit, int option) {
    for (unsigned i = 0; jit->option != NULL && jit->value != NULL && i < jit->n; ++i)
        if (jit->option[i] == option)
            return &jit->value[i];
    return NULL;
}

static size_t size_of(const driver_jit *jit, int option) {
    void **size = value_of(jit, option);
    return size != NULL ? (uint32_t)(uintptr_t)*size : 0;
}

driver_jit driver_jit_of(unsigned n, const int *options, void **values) {
    driver_jit jit = {n, options, values, 0, 0};
    jit.info_room = size_of(&jit, INFO_BYTES);
    jit.error_room = size_of(&jit, ERROR_BYTES);
    return jit;
}

/* Fills a buffer; the place of its size gets the size of the text, with its end unless it is "". */
static void write_log(const driver_jit *jit, int buffer, int size, size_t room, const char *text) {
    void **to = value_of(jit, buffer);
    size_t n = strlen(text);
    if (to == NULL || *to == NULL || room == 0)
        return;
    n = n < room ? n : room - 1;
    memcpy(*to, text, n);
    ((char *)*to)[n] = '\0';
    *value_of(jit, size) = (void *)(uintptr_t)(n > 0 ? n + 1 : 0);
}

void driver_jit_time(const driver_jit *jit, double seconds) {
    void **time = value_of(jit, WALL_TIME);
    const float milliseconds = (float)(1e3 * seconds);
    if (time != NULL)
        memcpy(time, &milliseconds, sizeof milliseconds);
}

double driver_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void driver_jit_tell(const driver_jit *jit, const char *error) {
    write_log(jit, INFO_LOG, INFO_BYTES, jit->info_room, "");
    write_log(jit, ERROR_LOG, ERROR_BYTES, jit->error_room, error);
}

/* ---- the linker ---- */

typedef struct linker {
    char *text; /* ends in a zero byte */
    size_t size;
    driver_jit jit; /* the program keeps them */
    double seconds;
    exec_error failed; /* after which nothing is taken */
    bool complete;
} linker;

static exec_error create(linker **made, unsigned n, const int *options, void **values) {
    if (made == NULL || (n > 0 && (options == NULL || values == NULL)))
        return EXEC_INVALID_VALUE;
    linker *l = calloc(1, sizeof *l);
    if (l == NULL || exec_handle_add(l, EXEC_HANDLE_LINK) != ASSAY_OK) {
        free(l);
        return EXEC_OUT_OF_MEMORY;
    }
    l->jit = driver_jit_of(n, options, values);
    driver_jit_tell(&l->jit, "");
    *made = l;
    return EXEC_SUCCESS;
}

EXPORT exec_error cuLinkCreate_v2(unsigned n, int *options, void **values, linker **made) {
    DRIVER_CALL(create(made, n, options, values));
}

static exec_error append(linker *l, const char *text) {
    const size_t n = strlen(text);
    char *larger = realloc(l->text, l->size + n + 2);
    if (larger == NULL)
        return EXEC_OUT_OF_MEMORY;
    l->text = larger;
    memcpy(larger + l->size, text, n);
    l->size += n;
    larger[l->size++] = '\n';
    larger[l->size] = '\0';
    return EXEC_SUCCESS;
}

static exec_error refuse(const linker *l, exec_error error, const char *line) {
    driver_jit_tell(&l->jit, line);
    exec_remark("%s: %s", exec_call_name(), line);
    return error;
}

/* Nothing is taken behind this. */
static exec_error fail(linker *l, exec_error error, const char *line) {
    l->failed = error;
    return refuse(l, error, line);
}

static assay_status check(const char *text, const char *named) {
    ptx_module *module;
    const assay_status status = ptx_module_load(text, strlen(text), named, &module);
    if (status == ASSAY_OK)
        ptx_module_free(module);
    return status;
}

/* An input alone is to be PTX, whatever it takes from others; then it is to fit to them. */
static exec_error add_ptx(linker *l, const char *text, const char *named) {
    const double start = driver_now();
    const assay_status alone = check(text, named);
    if (alone != ASSAY_OK)
        return alone == ASSAY_ERR_MEMORY ? EXEC_OUT_OF_MEMORY
                                         : refuse(l, EXEC_INVALID_PTX, assay_error());
    const exec_error error = append(l, text);
    if (error != EXEC_SUCCESS)
        return error;
    const assay_status status = check(l->text, "linked");
    l->seconds += driver_now() - start;
    if (status == ASSAY_OK)
        return EXEC_SUCCESS;
    return status == ASSAY_ERR_MEMORY ? EXEC_OUT_OF_MEMORY : fail(l, EXEC_UNKNOWN, assay_error());
}

static exec_error add_fat(linker *l, const void *image, size_t size, const char *named) {
    exec_ptx ptx;
    const assay_status status = exec_fatbin_ptx(image, size, EXEC_ARCHITECTURE, &ptx);
    if (status != ASSAY_OK)
        return refuse(l, status == ASSAY_ERR_UNSUPPORTED ? EXEC_NO_IMAGE : EXEC_INVALID_IMAGE,
                      assay_error());
    const exec_error error = add_ptx(l, ptx.text, named);
    free(ptx.text);
    return error;
}

enum { CUBIN, PTX, FATBINARY, OBJECT, LIBRARY, NVVM };

static bool is_elf(const void *data, size_t size) {
    return size >= 4 && memcmp(data, "\177ELF", 4) == 0;
}

static exec_error add(linker *l, int type, const void *data, size_t size, const char *named) {
    if (data == NULL || size == 0 || type < CUBIN || type > NVVM || l->complete)
        return EXEC_INVALID_VALUE;
    if (l->failed != EXEC_SUCCESS)
        return l->failed;
    if (type == FATBINARY)
        return add_fat(l, data, size, named);
    if (type != PTX)
        return fail(l, is_elf(data, size) ? EXEC_NO_IMAGE : EXEC_INVALID_IMAGE,
                    "only PTX, and fat binaries that hold some, can be linked here");
    char *text = strndup(data, size);
    const exec_error error = text != NULL ? add_ptx(l, text, named) : EXEC_OUT_OF_MEMORY;
    free(text);
    return error;
}

static exec_error add_data(linker *l, int type, const void *data, size_t size, const char *named) {
    return exec_handle_is(l, EXEC_HANDLE_LINK)
               ? add(l, type, data, size, named != NULL ? named : "input")
               : EXEC_INVALID_HANDLE;
}

EXPORT exec_error cuLinkAddData_v2(linker *l, int type, void *data, size_t size, const char *named,
                                   unsigned n, int *options, void **values) {
    (void)n, (void)options, (void)values;
    DRIVER_CALL(add_data(l, type, data, size, named));
}

static exec_error add_file(linker *l, int type, const char *path) {
    size_t size;
    if (!exec_handle_is(l, EXEC_HANDLE_LINK) || path == NULL)
        return path == NULL ? EXEC_INVALID_VALUE : EXEC_INVALID_HANDLE;
    char *data = exec_module_file(path, &size);
    const exec_error error = data != NULL ? add(l, type, data, size, path) : EXEC_FILE_NOT_FOUND;
    free(data);
    return error;
}

EXPORT exec_error cuLinkAddFile_v2(linker *l, int type, const char *path, unsigned n, int *options,
                                   void **values) {
    (void)n, (void)options, (void)values;
    DRIVER_CALL(add_file(l, type, path));
}

static exec_error complete(linker *l, void **image, size_t *size) {
    static const char nothing[] = ".version 7.0\n.target sm_80\n.address_size 64\n";
    if (!exec_handle_is(l, EXEC_HANDLE_LINK) || l->complete)
        return EXEC_INVALID_HANDLE;
    if (image == NULL || l->failed != EXEC_SUCCESS)
        return image == NULL ? EXEC_INVALID_VALUE : l->failed;
    if (l->size == 0 && append(l, nothing) != EXEC_SUCCESS)
        return EXEC_OUT_OF_MEMORY;
    l->complete = true;
    driver_jit_time(&l->jit, l->seconds);
    *image = l->text;
    if (size != NULL)
        *size = l->size + 1;
    return EXEC_SUCCESS;
}

EXPORT exec_error cuLinkComplete(linker *l, void **image, size_t *size) {
    DRIVER_CALL(complete(l, image, size));
}

static exec_error destroy(linker *l) {
    if (!exec_handle_is(l, EXEC_HANDLE_LINK))
        return EXEC_INVALID_HANDLE;
    exec_handle_remove(l);
    free(l->text);
    free(l);
    return EXEC_SUCCESS;
}

EXPORT exec_error cuLinkDestroy(linker *l) {
    DRIVER_CALL(destroy(l));
}
