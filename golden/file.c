#include "golden/file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define RESTORE "restore it from version control or make it anew"

/* Whatever is still open in the file is closed with it. No locks: readers share the file, and it is
 * replaced by renaming, never written in place. */
static hid_t access_list(void) {
    const hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    if (list < 0)
        return list;
    /* 1.10's format on both ends: fixed bytes, and a checksum over every piece of metadata. */
    if (H5Pset_libver_bounds(list, H5F_LIBVER_V110, H5F_LIBVER_V110) < 0 ||
        H5Pset_fclose_degree(list, H5F_CLOSE_STRONG) < 0 ||
        H5Pset_file_locking(list, false, true) < 0) {
        H5Pclose(list);
        return H5I_INVALID_HID;
    }
    return list;
}

hid_t golden_untimed(hid_t class) {
    const hid_t list = H5Pcreate(class);
    if (list >= 0 && H5Pset_obj_track_times(list, false) < 0) {
        H5Pclose(list);
        return H5I_INVALID_HID;
    }
    return list;
}

static void silence(golden_file *file) {
    /* All files are closed. Where it found damage, HDF5 1.10 complains at exit that something is
     * still open; this counts only before its first call in a process. */
    (void)H5dont_atexit();
    H5Eget_auto2(H5E_DEFAULT, &file->report, &file->report_argument);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

static void restore_report(const golden_file *file) {
    H5Eset_auto2(H5E_DEFAULT, file->report, file->report_argument);
}

/* The start of a file in the format of access_list(). HDF5 reads older ones too, but these have no
 * checksums over their metadata, and a damaged one can crash it. */
static bool has_signature(FILE *from) {
    static const char signature[] = "\x89HDF\r\n\x1a\n\x03";
    char start[sizeof signature - 1];
    return fread(start, 1, sizeof start, from) == sizeof start &&
           memcmp(start, signature, sizeof start) == 0;
}

static assay_status refused(const char *path) {
    return assay_fail(ASSAY_ERR_FILE,
                      "%s: not an HDF5 file in the format of 1.10, or damaged; " RESTORE, path);
}

assay_status golden_file_open(golden_file *file, const char *path) {
    *file = (golden_file){.id = H5I_INVALID_HID, .path = path};
    FILE *from = fopen(path, "rb");
    if (from == NULL)
        return assay_fail(ASSAY_ERR_FILE,
                          "%s: %s; `assay golden generate` makes golden files, and "
                          "ASSAY_GOLDEN_DIR says where they are",
                          path, strerror(errno));
    const bool ours = has_signature(from);
    fclose(from);
    if (!ours)
        return refused(path);

    silence(file);
    const hid_t access = access_list();
    file->id = H5Fopen(path, H5F_ACC_RDONLY, access);
    H5Pclose(access);
    if (file->id >= 0)
        return ASSAY_OK;
    restore_report(file);
    return refused(path);
}

assay_status golden_file_create(golden_file *file, const char *path) {
    *file = (golden_file){.id = H5I_INVALID_HID, .path = path};
    silence(file);
    const hid_t access = access_list(), creation = golden_untimed(H5P_FILE_CREATE);
    file->id = H5Fcreate(path, H5F_ACC_TRUNC, creation, access);
    H5Pclose(access);
    H5Pclose(creation);
    if (file->id >= 0)
        return ASSAY_OK;
    restore_report(file);
    return assay_fail(ASSAY_ERR_FILE, "%s: HDF5 cannot create it; check the directory", path);
}

assay_status golden_file_close(golden_file *file) {
    if (file->id < 0)
        return ASSAY_OK;
    const herr_t closed = H5Fclose(file->id);
    file->id = H5I_INVALID_HID;
    restore_report(file);
    if (closed >= 0)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_FILE, "%s: cannot be closed; is the disk full?", file->path);
}

assay_status golden_damaged(const golden_file *file, const char *place, const char *format, ...) {
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return assay_fail(ASSAY_ERR_FILE, "%s: %s: %s; " RESTORE, file->path, place, what);
}
