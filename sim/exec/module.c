#include "sim/exec/module.h"

#include "sim/exec/fatbin.h"
#include "sim/exec/handles.h"
#include "sim/exec/race.h"
#include "sim/exec/table.h"
#include "sim/ptx/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct exec_module {
    exec_module *next;
    const void *image;
    char *named;
    bool read;         /* it was tried */
    exec_error failed; /* reading it */
    ptx_module *ptx;
    exec_kernel *kernels;
    exec_variable *variables;
};

static exec_module *modules;
static exec_table kernel_at, variable_at; /* by the program's addresses */

exec_error exec_module_add(const void *image, const char *named, exec_module **module) {
    exec_module *m = calloc(1, sizeof *m);
    *module = NULL;
    if (m == NULL)
        return EXEC_OUT_OF_MEMORY;
    m->image = image;
    m->named = strdup(named);
    if (m->named == NULL || exec_handle_add(m, EXEC_HANDLE_MODULE) != ASSAY_OK) {
        free(m->named);
        free(m);
        return EXEC_OUT_OF_MEMORY;
    }
    m->next = modules;
    modules = m;
    *module = m;
    return EXEC_SUCCESS;
}

bool exec_module_any(void) {
    return modules != NULL;
}

/* ---- reading an image ---- */

static exec_error text(exec_module *m, const char *ptx, size_t size) {
    const assay_status status = ptx_module_load(ptx, size, m->named, &m->ptx);
    if (status == ASSAY_OK) {
        exec_race_module(m->ptx);
        return EXEC_SUCCESS;
    }
    if (status == ASSAY_ERR_MEMORY)
        return EXEC_OUT_OF_MEMORY;
    exec_problem(EXEC_PROBLEM_NO_PTX, "%s", assay_error());
    return strstr(ptx, ".version") != NULL ? EXEC_INVALID_PTX : EXEC_INVALID_IMAGE;
}

static exec_error fat(exec_module *m, const void *image) {
    exec_ptx ptx;
    const assay_status status = exec_fatbin_ptx(image, SIZE_MAX, EXEC_ARCHITECTURE, &ptx);
    if (status == ASSAY_OK) {
        const exec_error error = text(m, ptx.text, ptx.size);
        free(ptx.text);
        return error;
    }
    exec_problem(EXEC_PROBLEM_NO_PTX, "%s: %s", m->named, assay_error());
    return status == ASSAY_ERR_UNSUPPORTED ? EXEC_NO_IMAGE : EXEC_INVALID_IMAGE;
}

/* Objects without PTX are the toolkit's own, such as cudadevrt: what a kernel needs of them is told
 * when it is launched. */
static exec_error linked(exec_module *m, const exec_fatbin_wrapper *w) {
    exec_ptx all = {0}, one;
    assay_status status = ASSAY_OK;
    for (const void *const *object = w->objects; *object != NULL && status == ASSAY_OK; ++object) {
        status = exec_fatbin_ptx(*object, SIZE_MAX, EXEC_ARCHITECTURE, &one);
        if (status == ASSAY_OK)
            status = exec_ptx_add(&all, &one);
        else if (status == ASSAY_ERR_UNSUPPORTED)
            status = ASSAY_OK;
    }
    if (status == ASSAY_OK && all.text == NULL)
        return fat(m, w->image);
    const exec_error error = status == ASSAY_OK ? text(m, all.text, all.size) : EXEC_INVALID_IMAGE;
    if (status != ASSAY_OK)
        exec_problem(EXEC_PROBLEM_NO_PTX, "%s: %s", m->named, assay_error());
    free(all.text);
    return error;
}

static exec_error read_image(exec_module *m) {
    uint32_t magic;
    memcpy(&magic, m->image, sizeof magic);
    if (magic == EXEC_FATBIN_WRAPPER_MAGIC) {
        const exec_fatbin_wrapper *w = m->image;
        return w->version == EXEC_FATBIN_LINKED && w->objects != NULL ? linked(m, w)
                                                                      : fat(m, w->image);
    }
    if (magic == EXEC_FATBIN_MAGIC)
        return fat(m, m->image);
    if (magic != UINT32_C(0x464c457f)) /* "\177ELF" */
        return text(m, m->image, strlen(m->image));
    exec_problem(EXEC_PROBLEM_NO_PTX,
                 "%s: a cubin is machine code, which the simulated device does not run: load PTX, "
                 "or a fat binary that holds some",
                 m->named);
    return EXEC_NO_IMAGE;
}

exec_error exec_module_load(exec_module *m) {
    if (m->read)
        return m->failed;
    m->read = true;
    m->failed = read_image(m);
    return m->failed;
}

void exec_module_remove(exec_module *m) {
    exec_module **link = &modules;
    while (*link != m)
        link = &(*link)->next;
    *link = m->next;
    exec_handle_remove(m);
    for (exec_kernel *k = m->kernels, *next; k != NULL; k = next) {
        next = k->next;
        exec_handle_remove(k);
        free(k->name);
        free(k->prepared);
        free(k);
    }
    for (exec_variable *v = m->variables, *next; v != NULL; v = next) {
        next = v->next;
        free(v->name);
        free(v);
    }
    ptx_module_free(m->ptx);
    free(m->named);
    free(m);
}

/* ---- kernels ---- */

static exec_error kernel_of(exec_module *m, const char *name, exec_kernel **kernel) {
    for (exec_kernel *k = m->kernels; k != NULL; k = k->next)
        if (strcmp(k->name, name) == 0) {
            *kernel = k;
            return EXEC_SUCCESS;
        }
    exec_kernel *k = calloc(1, sizeof *k);
    if (k == NULL)
        return EXEC_OUT_OF_MEMORY;
    *k = (exec_kernel){
        .next = m->kernels, .module = m, .name = strdup(name), .most_dynamic_shared = -1};
    k->carveout = -1;
    if (k->name == NULL || exec_handle_add(k, EXEC_HANDLE_KERNEL) != ASSAY_OK) {
        free(k->name);
        free(k);
        return EXEC_OUT_OF_MEMORY;
    }
    m->kernels = k;
    *kernel = k;
    return EXEC_SUCCESS;
}

/* A line for each instruction of the kernel that is not known, with the first place that has it. */
static void tell_unknown(const exec_kernel *k) {
    const ptx_unknown *u, *earlier;
    for (int32_t i = 0; (u = ptx_module_unknown(k->module->ptx, i)) != NULL; ++i) {
        int32_t j = 0;
        if (strcmp(u->function, k->name) != 0)
            continue;
        while ((earlier = ptx_module_unknown(k->module->ptx, j)) != u &&
               (strcmp(earlier->function, k->name) != 0 || strcmp(earlier->opcode, u->opcode) != 0))
            ++j;
        if (earlier == u)
            exec_problem_in(k->name, "", EXEC_PROBLEM_OPCODE,
                            "%s:%d: %s is not simulated; %s traps where it is reached", u->file,
                            u->line, u->opcode, k->function->own_name);
    }
}

static exec_error load_kernel(exec_kernel *k) {
    const exec_error error = exec_module_load(k->module);
    if (error != EXEC_SUCCESS || k->function != NULL)
        return error;
    k->function = ptx_module_find(k->module->ptx, k->name);
    if (k->function == NULL)
        return EXEC_INVALID_FUNCTION;
    k->row = exec_report_kernel(k->name);
    tell_unknown(k);
    return EXEC_SUCCESS;
}

exec_error exec_module_kernel(exec_module *m, const char *name, exec_kernel **kernel) {
    exec_error error = exec_module_load(m);
    if (error == EXEC_SUCCESS && ptx_module_find(m->ptx, name) == NULL)
        error = EXEC_NOT_FOUND;
    if (error == EXEC_SUCCESS)
        error = kernel_of(m, name, kernel);
    return error == EXEC_SUCCESS ? load_kernel(*kernel) : error;
}

exec_error exec_module_count(exec_module *m, unsigned *n) {
    const exec_error error = exec_module_load(m);
    for (*n = 0; error == EXEC_SUCCESS && ptx_module_kernel(m->ptx, (int32_t)*n) != NULL;)
        ++*n;
    return error;
}

exec_error exec_module_kernels(exec_module *m, exec_kernel **kernels, unsigned n) {
    unsigned have = 0;
    exec_error error = exec_module_count(m, &have);
    for (unsigned i = 0; error == EXEC_SUCCESS && i < n && i < have; ++i)
        error = exec_module_kernel(m, ptx_module_kernel(m->ptx, (int32_t)i)->name, &kernels[i]);
    return error;
}

exec_error exec_register_kernel(exec_module *m, const void *host, const char *name) {
    exec_kernel *k = NULL;
    const exec_error error = kernel_of(m, name, &k);
    if (error != EXEC_SUCCESS)
        return error;
    return exec_table_put(&kernel_at, host, k) == ASSAY_OK ? EXEC_SUCCESS : EXEC_OUT_OF_MEMORY;
}

exec_error exec_kernel_of(const void *function, exec_kernel **kernel) {
    exec_kernel *k = exec_table_get(&kernel_at, function);
    if (k == NULL && exec_handle_is(function, EXEC_HANDLE_KERNEL))
        k = (exec_kernel *)(uintptr_t)function;
    *kernel = k;
    return k != NULL ? load_kernel(k) : EXEC_INVALID_FUNCTION;
}

/* ---- variables ---- */

static exec_error find_variable(exec_module *m, const char *name, exec_variable **variable) {
    for (exec_variable *v = m->variables; v != NULL; v = v->next)
        if (strcmp(v->name, name) == 0) {
            *variable = v;
            return EXEC_SUCCESS;
        }
    exec_variable *v = calloc(1, sizeof *v);
    if (v == NULL)
        return EXEC_OUT_OF_MEMORY;
    *v = (exec_variable){.next = m->variables, .module = m, .name = strdup(name)};
    if (v->name == NULL) {
        free(v);
        return EXEC_OUT_OF_MEMORY;
    }
    m->variables = v;
    *variable = v;
    return EXEC_SUCCESS;
}

static exec_error load_variable(exec_variable *v) {
    const exec_error error = exec_module_load(v->module);
    if (error != EXEC_SUCCESS || v->address != NULL)
        return error;
    void *address;
    if (ptx_module_symbol(v->module->ptx, v->name, &address, &v->bytes) != ASSAY_OK)
        return EXEC_INVALID_SYMBOL;
    v->address = address;
    return EXEC_SUCCESS;
}

exec_error exec_module_variable(exec_module *m, const char *name, exec_variable **variable) {
    void *address;
    size_t bytes;
    exec_error error = exec_module_load(m);
    if (error == EXEC_SUCCESS && ptx_module_symbol(m->ptx, name, &address, &bytes) != ASSAY_OK)
        error = EXEC_NOT_FOUND;
    if (error == EXEC_SUCCESS)
        error = find_variable(m, name, variable);
    return error == EXEC_SUCCESS ? load_variable(*variable) : error;
}

exec_error exec_register_variable(exec_module *m, const void *host, const char *name) {
    exec_variable *v = NULL;
    const exec_error error = find_variable(m, name, &v);
    if (error != EXEC_SUCCESS)
        return error;
    return exec_table_put(&variable_at, host, v) == ASSAY_OK ? EXEC_SUCCESS : EXEC_OUT_OF_MEMORY;
}

exec_error exec_variable_of(const void *host, exec_variable **variable) {
    *variable = exec_table_get(&variable_at, host);
    return *variable != NULL ? load_variable(*variable) : EXEC_INVALID_SYMBOL;
}

const exec_variable *exec_variable_at(const void *address) {
    const char *at = address;
    for (const exec_module *m = modules; m != NULL; m = m->next)
        for (const exec_variable *v = m->variables; v != NULL; v = v->next)
            if (v->address != NULL && v->address <= at && at < v->address + v->bytes)
                return v;
    return NULL;
}

char *exec_module_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    *size = 0;
    for (size_t room = 1 << 16, got = 1; file != NULL && got > 0; room *= 2) {
        char *larger = realloc(text, room);
        if (larger == NULL)
            break;
        text = larger;
        got = fread(text + *size, 1, room - *size - 1, file);
        *size += got;
        text[*size] = '\0';
    }
    if (file != NULL)
        (void)fclose(file);
    return text;
}
