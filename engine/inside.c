#include "engine/inside.h"
#include "engine/foreign.h"
#include "engine/kernel_file.h"
#include "engine/process/process.h"
#include "engine/python.h"
#include "engine/shared_object.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void write_text(const char *path, const char *text) {
    const int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file >= 0) {
        const ssize_t n = write(file, text, strlen(text));
        (void)n; /* as good a wish as the system grants */
        close(file);
    }
}

void inside_settle(void) {
    process_settle();
    write_text("/proc/self/oom_score_adj", "1000");
}

/* A library of its own that the loader does not find. */
static bool is_missing(const char *why) {
    return strstr(why, "cannot open shared object file") != NULL;
}

assay_status inside_load(const char *kernel, void **object) {
    const char *why = shared_object_load(kernel, object);
    if (!why)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_KERNEL, "cannot be loaded: %s%s", why,
                      is_missing(why) ? "; link it with -Wl,-rpath,FOLDER, or set LD_LIBRARY_PATH "
                                        "to the folder of that library"
                                      : "");
}

static assay_status find_own(void *object, const char *kernel, const char *symbol,
                             const assay_variant **variant) {
    *variant = dlsym(object, symbol);
    if (!*variant)
        return assay_fail(ASSAY_ERR_USAGE, "%s has no %s: ASSAY_VARIANT names another", kernel,
                          symbol);
    return ASSAY_OK;
}

assay_status inside_try(const assay_device *device, const inside_kernel *kernel) {
    const assay_variant *variant;
    void *object;
    if (kernel->file == NULL)
        return ASSAY_OK;
    return kernel->binding
               ? foreign_load(kernel->file, "", "", device->name, kernel->binding, &variant)
               : inside_load(kernel->file, &object);
}

assay_status inside_find_variant(const assay_device *device, const inside_kernel *kernel,
                                 const char *op, const char *name, const assay_variant **variant) {
    *variant = NULL;
    if (python_is_set()) {
        *variant = python_variant(op, name, device->name);
        return ASSAY_OK;
    }
    if (kernel->file) {
        char symbol[KERNEL_SYMBOL];
        void *object;
        if (kernel->binding)
            return foreign_load(kernel->file, op, name, device->name, kernel->binding, variant);
        const assay_status status = inside_load(kernel->file, &object);
        if (status != ASSAY_OK)
            return status;
        kernel_file_symbol(op, name, device->name, symbol);
        return find_own(object, kernel->file, symbol, variant);
    }
    for (int32_t v = 0; v < device->n_variants; ++v)
        if (strcmp(device->variants[v]->op, op) == 0 &&
            strcmp(device->variants[v]->name, name) == 0)
            *variant = device->variants[v];
    return *variant
               ? ASSAY_OK
               : assay_fail(ASSAY_ERR_USAGE, "%s has no variant %s on %s", op, name, device->name);
}
