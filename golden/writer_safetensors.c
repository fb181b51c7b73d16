/*
 * safetensors (safetensors.c). Its header precedes the data and names all of them: data go to a
 * file beside it first, and behind the header once that is known.
 */
#include "core/json.h"
#include "golden/packed.h"
#include "golden/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 8, ALIGNMENT = 8, PIECE = 1 << 16 };

typedef struct list {
    FILE *to;
    bool any;
    char *text;
    size_t size;
} list;

typedef struct safetensors_state {
    replacement spool;
    FILE *data;
    list tensors, texts;
    uint64_t end; /* of the data so far */
} safetensors_state;

static assay_status begin(tensor_writer *w) {
    safetensors_state *s = calloc(1, sizeof *s);
    if (s == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for %s", w->temporary.name);
    w->state = s;
    const assay_status status = replacement_begin(&s->spool, w->temporary.name);
    if (status != ASSAY_OK)
        return status;
    s->data = fopen(s->spool.path, "w+b");
    if (s->data == NULL)
        return assay_fail(ASSAY_ERR_FILE, "%s: cannot be written: %s", w->temporary.name,
                          strerror(errno));
    s->tensors.to = open_memstream(&s->tensors.text, &s->tensors.size);
    s->texts.to = open_memstream(&s->texts.text, &s->texts.size);
    return s->tensors.to != NULL && s->texts.to != NULL
               ? ASSAY_OK
               : assay_fail(ASSAY_ERR_MEMORY, "%s: no memory for its header", w->temporary.name);
}

static bool put(void *context, const void *bytes, size_t size) {
    return fwrite(bytes, 1, size, context) == size;
}

static FILE *put_name(list *l, const char *group, const char *name) {
    char whole[WRITER_NAME];
    snprintf(whole, sizeof whole, "%s/%s", group, name);
    if (l->any)
        putc(',', l->to);
    l->any = true;
    json_string(l->to, whole);
    putc(':', l->to);
    return l->to;
}

static assay_status put_text(tensor_writer *w, const char *group, const char *name,
                             const char *text) {
    safetensors_state *s = w->state;
    json_string(put_name(&s->texts, group, name), text);
    return ASSAY_OK;
}

static assay_status put_tensor(tensor_writer *w, const tensor_item *item) {
    safetensors_state *s = w->state;
    const assay_tensor_spec *spec = &item->spec;
    FILE *to = put_name(&s->tensors, item->group, spec->name);
    const uint64_t end = s->end + (uint64_t)item->count * assay_dtype_size(spec->dtype);
    fprintf(to, "{\"dtype\":\"%s\",\"shape\":[", safetensors_type(spec->dtype));
    for (int32_t a = 0; a < spec->rank; ++a)
        fprintf(to, "%s%" PRId64, a > 0 ? "," : "", spec->shape[a]);
    fprintf(to, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", s->end, end);
    s->end = end;
    return writer_narrow(item, put, s->data) ? ASSAY_OK : writer_full(w);
}

static bool close_list(list *l) {
    if (l->to == NULL)
        return true;
    const bool whole = !ferror(l->to);
    const bool closed = fclose(l->to) == 0;
    l->to = NULL;
    return whole && closed;
}

/* With blanks behind it, so that data begin at a multiple of eight bytes. */
static bool put_header(const safetensors_state *s, FILE *to) {
    static const char before[] = "\"__metadata__\":{", after[] = "}";
    const bool texts = s->texts.any, both = texts && s->tensors.any;
    const size_t around = texts ? sizeof before - 1 + sizeof after - 1 + both : 0;
    const uint64_t used = 2 + s->tensors.size + s->texts.size + around;
    const uint64_t length = (used + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    for (int i = 0; i < LENGTH; ++i)
        putc((int)(length >> 8 * i & 0xff), to);
    putc('{', to);
    if (texts)
        fprintf(to, "%s%s%s%s", before, s->texts.text, after, both ? "," : "");
    bool whole = put(to, s->tensors.text, s->tensors.size);
    putc('}', to);
    for (uint64_t i = used; i < length; ++i)
        putc(' ', to);
    return whole && !ferror(to);
}

static bool copy(FILE *from, FILE *to) {
    char piece[PIECE];
    size_t size;
    if (fflush(from) != 0 || fseeko(from, 0, SEEK_SET) != 0)
        return false;
    while ((size = fread(piece, 1, sizeof piece, from)) > 0)
        if (!put(to, piece, size))
            return false;
    return !ferror(from);
}

static assay_status finish(tensor_writer *w) {
    safetensors_state *s = w->state;
    const bool tensors = close_list(&s->tensors), texts = close_list(&s->texts);
    FILE *to = tensors && texts ? fopen(w->temporary.path, "wb") : NULL;
    if (to == NULL)
        return writer_full(w);
    const bool whole = put_header(s, to) && copy(s->data, to);
    return fclose(to) == 0 && whole ? ASSAY_OK : writer_full(w);
}

static void clear(tensor_writer *w) {
    safetensors_state *s = w->state;
    if (s == NULL)
        return;
    (void)close_list(&s->tensors);
    (void)close_list(&s->texts);
    free(s->tensors.text);
    free(s->texts.text);
    if (s->data != NULL)
        (void)fclose(s->data);
    replacement_clear(&s->spool);
    free(s);
    w->state = NULL;
}

const writer_format writer_safetensors = {".safetensors", begin,  put_text,
                                          put_tensor,     finish, clear};
