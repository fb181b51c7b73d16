#include "core/replace.h"
#include "golden/file.h"
#include "golden/packed.h"
#include "golden/state.h"

#include <errno.h>
#include <string.h>

static assay_status unwritten(const golden_file *file, const char *what) {
    return assay_fail(ASSAY_ERR_FILE, "%s: cannot write %s; is the disk full?", file->path, what);
}

/* HDF5 narrows piece by piece, and every value fits: no second array is needed. */
static assay_status write_tensor(const golden_file *file, hid_t group,
                                 const assay_tensor_spec *spec, const double *data) {
    hsize_t shape[ASSAY_MAX_RANK] = {0};
    hid_t dataset = H5I_INVALID_HID;
    for (int32_t a = 0; a < spec->rank; ++a)
        shape[a] = (hsize_t)spec->shape[a];
    const hid_t creation = golden_untimed(H5P_DATASET_CREATE);
    const hid_t space = H5Screate_simple(spec->rank, shape, NULL);
    if (H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER) >= 0) /* all of it is written once */
        dataset = H5Dcreate2(group, spec->name, state_type(spec->dtype), space, H5P_DEFAULT,
                             creation, H5P_DEFAULT);
    H5Sclose(space);
    H5Pclose(creation);
    if (dataset < 0)
        return unwritten(file, spec->name);
    const herr_t written =
        H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    const herr_t closed = H5Dclose(dataset);
    return written >= 0 && closed >= 0 ? ASSAY_OK : unwritten(file, spec->name);
}

assay_status state_write_group(const golden_file *file, hid_t parent, const char *name,
                               const assay_tensor_spec *specs, const assay_arrays *arrays) {
    hid_t group = H5I_INVALID_HID;
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < arrays->count; ++i) {
        if (arrays->data[i] == NULL)
            continue;
        if (group < 0) {
            const hid_t creation = golden_untimed(H5P_GROUP_CREATE);
            group = H5Gcreate2(parent, name, H5P_DEFAULT, creation, H5P_DEFAULT);
            H5Pclose(creation);
        }
        status = group >= 0 ? write_tensor(file, group, &specs[i], arrays->data[i])
                            : unwritten(file, name);
    }
    if (group >= 0 && H5Gclose(group) < 0 && status == ASSAY_OK)
        status = unwritten(file, name);
    return status;
}

static assay_status write_groups(const char *path, const assay_problem *p,
                                 const assay_results *got) {
    golden_file file;
    assay_status status = golden_file_create(&file, path);
    if (status != ASSAY_OK)
        return status;
    status = state_write_group(&file, file.id, "in", p->sig.in, &p->in);
    if (status == ASSAY_OK)
        status = state_write_group(&file, file.id, "cot", p->sig.out, &p->cot);
    if (status == ASSAY_OK && got != NULL)
        status = state_write_group(&file, file.id, "out", p->sig.out, &got->out);
    if (status == ASSAY_OK && got != NULL)
        status = state_write_group(&file, file.id, "grad", p->sig.in, &got->grad);
    const assay_status closed = golden_file_close(&file);
    return status == ASSAY_OK ? closed : status;
}

assay_status assay_state_try(const char *path) {
    replacement temporary;
    const assay_status status = replacement_begin(&temporary, path);
    replacement_clear(&temporary);
    return status;
}

typedef enum format { FORMAT_HDF5, FORMAT_NPZ, FORMAT_SAFETENSORS } format;

static format format_of(const char *path) {
    const char *dot = strrchr(path, '.');
    if (dot != NULL && strcmp(dot, ".npz") == 0)
        return FORMAT_NPZ;
    return dot != NULL && strcmp(dot, ".safetensors") == 0 ? FORMAT_SAFETENSORS : FORMAT_HDF5;
}

static assay_status write_packed(const replacement *temporary, format how, const assay_problem *p,
                                 const assay_results *got) {
    FILE *to = fopen(temporary->path, "wb");
    if (to == NULL)
        return assay_fail(ASSAY_ERR_FILE, "%s: cannot be written: %s", temporary->name,
                          strerror(errno));
    const assay_status status = how == FORMAT_NPZ ? npz_write(to, temporary->name, p, got)
                                                  : safetensors_write(to, temporary->name, p, got);
    if (fclose(to) != 0 && status == ASSAY_OK)
        return assay_fail(ASSAY_ERR_FILE, "%s: cannot be written; is the disk full?",
                          temporary->name);
    return status;
}

assay_status assay_state_write(const char *path, const assay_problem *p, const assay_results *got) {
    replacement temporary;
    assay_status status = replacement_begin(&temporary, path);
    if (status != ASSAY_OK)
        return status;
    const format how = format_of(path);
    status = how == FORMAT_HDF5 ? write_groups(temporary.path, p, got)
                                : write_packed(&temporary, how, p, got);
    if (status == ASSAY_OK)
        status = replacement_commit(&temporary);
    replacement_clear(&temporary);
    return status;
}
