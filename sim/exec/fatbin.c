#include "sim/exec/fatbin.h"

#include "sim/exec/inflate.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KIND_PTX = 1,
    KIND_MACHINE_CODE = 2,
    FLAG_LZ4 = 0x2000,
    FLAG_ZSTD = 0x8000,
    LEAST_ENTRY = 64, /* bytes of an entry's header; options that follow make it longer */
    LARGEST = 1 << 30 /* bytes of one text: more is a damaged header */
};

typedef struct header {
    uint32_t magic;
    uint16_t version, bytes; /* of this header */
    uint64_t total;          /* of the entries behind it; 0: another header follows */
} header;

typedef struct entry {
    uint16_t kind, version;
    uint32_t bytes;      /* of this header */
    uint64_t payload;    /* bytes behind it, padding included */
    uint32_t compressed; /* bytes of the payload that are compressed data */
    uint32_t options;
    uint16_t minor, major; /* of the PTX version */
    uint32_t architecture;
    uint32_t name_offset, name_bytes;
    uint64_t flags, reserved;
    uint64_t plain; /* bytes once expanded; 0: not compressed */
} entry;
_Static_assert(sizeof(header) == 16 && sizeof(entry) == LEAST_ENTRY, "as nvcc lays them out");

typedef struct choice {
    entry found;
    const char *payload; /* NULL: none fits yet */
    char seen[160];      /* " sm_80 compute_90": what there is, for the message */
} choice;

static void note(choice *c, const entry *e) {
    const size_t used = strlen(c->seen);
    const char *kind = e->kind == KIND_PTX            ? "compute"
                       : e->kind == KIND_MACHINE_CODE ? "sm"
                                                      : "unknown";
    snprintf(c->seen + used, sizeof c->seen - used, " %s_%u", kind, e->architecture);
}

static assay_status damaged(const char *what) {
    return assay_fail(ASSAY_ERR_FILE, "the program's fat binary is damaged: %s", what);
}

static assay_status walk_entries(const char *at, uint64_t left, int32_t architecture, choice *c) {
    while (left > 0) {
        entry e;
        if (left < sizeof e)
            return damaged("an entry's header is cut off");
        memcpy(&e, at, sizeof e);
        if (e.bytes < sizeof e || e.bytes > left || e.payload > left - e.bytes)
            return damaged("an entry is longer than the file");
        note(c, &e);
        const bool newer = c->payload == NULL || e.architecture > c->found.architecture;
        if (e.kind == KIND_PTX && e.architecture <= (uint32_t)architecture && newer) {
            c->found = e;
            c->payload = at + e.bytes;
        }
        at += e.bytes + e.payload;
        left -= e.bytes + e.payload;
    }
    return ASSAY_OK;
}

static assay_status walk(const char *at, size_t room, int32_t architecture, choice *c) {
    header h;
    do {
        if (room < sizeof h)
            return damaged("its header is cut off");
        memcpy(&h, at, sizeof h);
        if (h.magic != EXEC_FATBIN_MAGIC)
            return assay_fail(ASSAY_ERR_FILE, "not a fat binary: it begins with %08x, not %08x",
                              h.magic, EXEC_FATBIN_MAGIC);
        if (h.bytes < sizeof h || h.bytes > room || h.total > room - h.bytes)
            return damaged("its header promises more than there is");
        at += h.bytes;
        room -= h.bytes;
    } while (h.total == 0);
    return walk_entries(at, h.total, architecture, c);
}

static assay_status expand(const choice *c, exec_ptx *ptx) {
    const entry *e = &c->found;
    const bool packed = (e->flags & (FLAG_LZ4 | FLAG_ZSTD)) != 0;
    const uint64_t bytes = packed ? e->plain : e->payload;
    if (bytes > LARGEST || (packed && e->compressed > e->payload))
        return damaged("the size of its PTX makes no sense");
    char *text = malloc((size_t)bytes + 1);
    if (text == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for the program's PTX");
    assay_status status = ASSAY_OK;
    if ((e->flags & FLAG_ZSTD) != 0)
        status = exec_inflate_zstd(c->payload, e->compressed, text, (size_t)bytes);
    else if ((e->flags & FLAG_LZ4) != 0)
        status = exec_inflate_lz4(c->payload, e->compressed, text, (size_t)bytes);
    else
        memcpy(text, c->payload, (size_t)bytes);
    if (status != ASSAY_OK) {
        free(text);
        return status;
    }
    text[bytes] = '\0';
    /* A text that is not compressed is filled up with zeros. */
    *ptx = (exec_ptx){text, strlen(text), (int32_t)e->architecture};
    return ASSAY_OK;
}

assay_status exec_fatbin_ptx(const void *image, size_t room, int32_t architecture, exec_ptx *ptx) {
    *ptx = (exec_ptx){0};
    choice c = {.payload = NULL};
    const assay_status status = walk(image, room, architecture, &c);
    if (status != ASSAY_OK)
        return status;
    if (c.payload == NULL)
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "the program holds no PTX for compute capability %d.%d or older (it "
                          "holds:%s): build it with -arch=sm_80, or with -gencode "
                          "arch=compute_80,code=compute_80",
                          architecture / 10, architecture % 10,
                          c.seen[0] != '\0' ? c.seen : " nothing");
    return expand(&c, ptx);
}

assay_status exec_ptx_add(exec_ptx *ptx, exec_ptx *more) {
    char *larger = realloc(ptx->text, ptx->size + more->size + 2);
    if (larger == NULL) {
        free(more->text);
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for the program's PTX");
    }
    memcpy(larger + ptx->size, more->text, more->size);
    ptx->text = larger;
    ptx->size += more->size;
    ptx->architecture = more->architecture;
    larger[ptx->size++] = '\n';
    larger[ptx->size] = '\0';
    free(more->text);
    return ASSAY_OK;
}
