#include "sim/exec/prepare.h"

#include "sim/exec/elf.h"
#include "sim/exec/fatbin.h"
#include "sim/exec/module.h"
#include "sim/exec/race.h"
#include "sim/ptx/launch.h"

#include <stdlib.h>

assay_status exec_prepare_text(const char *text, size_t size, const char *name,
                               const char *folder) {
    ptx_module *module = NULL;
    const ptx_function *kernel;
    assay_status status = ptx_module_load(text, size, name, &module);
    if (status == ASSAY_OK)
        exec_race_module(module); /* recording is part of the code */
    for (int32_t i = 0; status == ASSAY_OK && (kernel = ptx_module_kernel(module, i)) != NULL; ++i)
        status = ptx_prepare(kernel, folder);
    ptx_module_free(module);
    return status;
}

bool exec_has_images(const char *path) {
    exec_elf elf;
    size_t offset = 0, room;
    if (exec_elf_open(path, &elf) != ASSAY_OK)
        return false;
    const bool has = exec_elf_image(&elf, EXEC_ELF_IMAGES, &offset, &room) != NULL;
    exec_elf_close(&elf);
    return has;
}

/* Those of objects are one text. */
static assay_status prepare_images(const exec_elf *elf, const char *name, const char *folder) {
    const void *image;
    exec_ptx ptx, all = {0};
    assay_status status = ASSAY_OK;
    size_t offset = 0, room;
    while (status == ASSAY_OK &&
           (image = exec_elf_image(elf, EXEC_ELF_OBJECTS, &offset, &room)) != NULL)
        if (exec_fatbin_ptx(image, room, EXEC_ARCHITECTURE, &ptx) == ASSAY_OK)
            status = exec_ptx_add(&all, &ptx);
    if (all.text != NULL) {
        if (status == ASSAY_OK)
            status = exec_prepare_text(all.text, all.size, name, folder);
        free(all.text);
        return status;
    }
    offset = 0;
    while (status == ASSAY_OK &&
           (image = exec_elf_image(elf, EXEC_ELF_IMAGES, &offset, &room)) != NULL) {
        status = exec_fatbin_ptx(image, room, EXEC_ARCHITECTURE, &ptx);
        if (status == ASSAY_OK)
            status = exec_prepare_text(ptx.text, ptx.size, name, folder);
        free(ptx.text);
    }
    return status;
}

assay_status exec_prepare(const char *path, const char *name, const char *folder) {
    exec_elf elf;
    assay_status status = exec_elf_open(path, &elf);
    if (status != ASSAY_OK)
        return status;
    if (exec_elf_runtime(&elf) > 0)
        status = assay_fail(ASSAY_ERR_UNSUPPORTED,
                            "%.300s: CUDA's runtime is linked into it, and no stand-in serves that "
                            "on the simulated device: link it with nvcc -cudart shared",
                            path);
    else
        status = prepare_images(&elf, name, folder);
    exec_elf_close(&elf);
    return status;
}
