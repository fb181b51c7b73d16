#include "golden/packed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 4096 };

assay_status packed_find(const state_reading *r, const char *name, state_slot *slot) {
    char group_name[PACKED_NAME];
    const state_group *group = NULL;
    *slot = (state_slot){.use = STATE_IGNORE};
    if (!state_strip_prefix(r, &name))
        return ASSAY_OK;
    const size_t length = strcspn(name, "/");
    if (r->prefix[0] != '\0' && name[length] == '\0')
        return ASSAY_OK; /* a text */
    snprintf(group_name, sizeof group_name, "%.*s", (int)length, name);
    const assay_status status = state_find_group(r, group_name, &group);
    if (status != ASSAY_OK || group->use == STATE_IGNORE)
        return status;
    return state_find_slot(r, group, name[length] == '/' ? name + length + 1 : "", slot);
}

size_t packed_most_bytes(const state_slot *slot) {
    const size_t size = assay_dtype_size(slot->spec->dtype);
    return (size_t)slot->size * (size < sizeof(float) ? sizeof(float) : size);
}

/* bf16 and f16 may come widened, as HDF5 has them. */
static assay_status check_type(const state_slot *slot, const packed_tensor *t) {
    const assay_dtype want = slot->spec->dtype;
    const bool small = want == ASSAY_BF16 || want == ASSAY_F16;
    if (t->known && (t->dtype == want || (small && t->dtype == ASSAY_F32)))
        return ASSAY_OK;
    return state_refuse(slot, "of type %.40s, and the case has %s; convert it", t->type,
                        assay_dtype_name(want));
}

/* Bytes in a file lie at any address. */
static void widen(const packed_tensor *t, int64_t count, double *to) {
    const size_t size = assay_dtype_size(t->dtype);
    double aligned[PIECE];
    for (int64_t done = 0, n; done < count; done += n) {
        n = count - done < PIECE ? count - done : PIECE;
        memcpy(aligned, t->data + (size_t)done * size, (size_t)n * size);
        assay_dtype_widen(t->dtype, aligned, to + done, n);
    }
}

assay_status packed_take(const state_slot *slot, const packed_tensor *t) {
    assay_status status = check_type(slot, t);
    if (status == ASSAY_OK)
        status = state_check_shape(slot, t->rank, t->shape);
    if (status == ASSAY_OK && t->bytes != (size_t)slot->size * assay_dtype_size(t->dtype))
        status = state_refuse(slot, "its data are not as much as its shape says; make the file "
                                    "anew");
    if (status != ASSAY_OK)
        return status;
    const bool taken = slot->use == STATE_TAKE;
    double *values = taken ? slot->data : malloc((size_t)slot->size * sizeof *values + 1);
    if (values == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "%s: no memory for /%s/%s", slot->path, slot->group,
                          slot->spec->name);
    widen(t, slot->size, values);
    status = state_check_values(slot, values);
    if (!taken)
        free(values);
    return status;
}

void packed_print_name(const unsigned char *bytes, size_t length, char name[PACKED_NAME]) {
    size_t n = 0;
    for (; n < length && n + 1 < PACKED_NAME; ++n)
        name[n] = bytes[n] < ' ' || bytes[n] == 0x7f ? '?' : (char)bytes[n];
    name[n] = '\0';
}

/* ---- which format ---- */

typedef enum format { FORMAT_NPZ, FORMAT_SAFETENSORS, FORMAT_OTHER } format;

/* Of a file's first bytes. safetensors has no signature: a length of eight bytes, then JSON. */
enum { START = 9 };
static format format_of(const unsigned char start[START]) {
    if (memcmp(start, "PK\3\4", 4) == 0 || memcmp(start, "PK\5\6", 4) == 0)
        return FORMAT_NPZ;
    return start[START - 1] == '{' ? FORMAT_SAFETENSORS : FORMAT_OTHER;
}

/* Read, not mapped: a file that is cut short meanwhile must not end the process. */
static assay_status read_all(const char *path, int descriptor, size_t size, packed_file *file) {
    unsigned char *bytes = malloc(size + 1);
    size_t had = 0;
    ssize_t n = 1;
    if (bytes == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "%s: no memory for its %zu bytes", path, size);
    for (; had < size && n > 0; had += n > 0 ? (size_t)n : 0)
        n = read(descriptor, bytes + had, size - had);
    if (had == size) {
        *file = (packed_file){path, bytes, size};
        return ASSAY_OK;
    }
    free(bytes);
    return assay_fail(ASSAY_ERR_FILE, "%s: cannot be read: %s", path,
                      n < 0 ? strerror(errno) : "it became shorter");
}

/* Empty for HDF5, which is not read here. */
static assay_status load(const char *path, packed_file *file) {
    struct stat info;
    unsigned char start[START] = {0};
    *file = (packed_file){.path = path};
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    assay_status status = ASSAY_OK;
    if (descriptor < 0 || fstat(descriptor, &info) != 0)
        status = assay_fail(ASSAY_ERR_FILE, "%s: %s; `assay run` with --no-run makes such a file",
                            path, strerror(errno));
    else if (!S_ISREG(info.st_mode))
        status = assay_fail(ASSAY_ERR_FILE, "%s: is not a file of tensors", path);
    else if (pread(descriptor, start, START, 0) == START && format_of(start) != FORMAT_OTHER)
        status = read_all(path, descriptor, (size_t)info.st_size, file);
    if (descriptor >= 0)
        (void)close(descriptor);
    return status;
}

assay_status packed_read(const state_reading *r) {
    packed_file file;
    assay_status status = load(r->path, &file);
    if (status != ASSAY_OK)
        return status;
    if (file.bytes == NULL)
        return state_read_hdf5(r);
    status = format_of(file.bytes) == FORMAT_NPZ ? npz_read(&file, r) : safetensors_read(&file, r);
    free((void *)file.bytes);
    return status;
}
