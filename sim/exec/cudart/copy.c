#include "sim/exec/copy.h"
#include "sim/exec/cudart/cudart.h"
#include "sim/exec/module.h"

static exec_error copy(const exec_block *b, int direction, void *stream, bool now) {
    exec_stream *s;
    const exec_error error = exec_stream_of(stream, &s);
    return error == EXEC_SUCCESS ? exec_copy(b, direction, s, now) : error;
}

EXPORT exec_error cudaMemcpy(void *to, const void *from, size_t bytes, int direction) {
    const exec_block b = exec_bytes(to, from, bytes);
    EXEC_CALL(copy(&b, direction, NULL, true));
}
SAME_AS(cudaMemcpy_ptds, cudaMemcpy);

EXPORT exec_error cudaMemcpyAsync(void *to, const void *from, size_t bytes, int direction,
                                  void *stream) {
    const exec_block b = exec_bytes(to, from, bytes);
    EXEC_CALL(copy(&b, direction, stream, false));
}
SAME_AS(cudaMemcpyAsync_ptsz, cudaMemcpyAsync);

EXPORT exec_error cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device,
                                 size_t bytes) {
    const exec_block b = exec_bytes(to, from, bytes);
    EXEC_CALL(to_device == 0 && from_device == 0 ? copy(&b, EXEC_DEVICE_TO_DEVICE, NULL, true)
                                                 : EXEC_INVALID_DEVICE);
}

EXPORT exec_error cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                      size_t bytes, void *stream) {
    const exec_block b = exec_bytes(to, from, bytes);
    EXEC_CALL(to_device == 0 && from_device == 0 ? copy(&b, EXEC_DEVICE_TO_DEVICE, stream, false)
                                                 : EXEC_INVALID_DEVICE);
}

/* ---- rows and planes ---- */

static exec_block rows_of(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                          size_t width, size_t rows) {
    return (exec_block){
        to, from, width, rows, 1, to_pitch, to_pitch * rows, from_pitch, from_pitch * rows};
}

EXPORT exec_error cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                               size_t width, size_t rows, int direction) {
    const exec_block b = rows_of(to, to_pitch, from, from_pitch, width, rows);
    EXEC_CALL(copy(&b, direction, NULL, true));
}
SAME_AS(cudaMemcpy2D_ptds, cudaMemcpy2D);

EXPORT exec_error cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                    size_t width, size_t rows, int direction, void *stream) {
    const exec_block b = rows_of(to, to_pitch, from, from_pitch, width, rows);
    EXEC_CALL(copy(&b, direction, stream, false));
}
SAME_AS(cudaMemcpy2DAsync_ptsz, cudaMemcpy2DAsync);

static char *place_in(const pitched *p, position at) {
    return (char *)p->memory + (at.z * p->rows + at.y) * p->pitch + at.x;
}

/* With an array, x and the width count its elements, of memory on the other side, too: so says an
 * H200, and not the manual, where memory has bytes. */
exec_error cudart_block_of(const copy3 *c, exec_block *b) {
    exec_error error = EXEC_SUCCESS;
    if (c == NULL)
        return EXEC_INVALID_VALUE;
    const exec_array *from = exec_array_of(c->from_array), *to = exec_array_of(c->to_array);
    const exec_array *any = from != NULL ? from : to;
    const size_t unit = any != NULL ? exec_image_element(&any->image) : 1;
    const size3 size = {c->size.width * unit, c->size.rows, c->size.planes};
    const position from_at = {c->from_at.x * unit, c->from_at.y, c->from_at.z};
    const position to_at = {c->to_at.x * unit, c->to_at.y, c->to_at.z};
    *b = (exec_block){.width = size.width,
                      .rows = size.rows,
                      .planes = size.planes,
                      .to = place_in(&c->to, to_at),
                      .from = place_in(&c->from, from_at),
                      .to_pitch = c->to.pitch,
                      .to_slice = c->to.pitch * c->to.rows,
                      .from_pitch = c->from.pitch,
                      .from_slice = c->from.pitch * c->from.rows};
    if (c->from_array != NULL) {
        char *memory = NULL;
        error = exec_array_part(from, from_at, size, &memory, &b->from_pitch, &b->from_slice);
        b->from = memory;
    }
    if (error == EXEC_SUCCESS && c->to_array != NULL)
        error = exec_array_part(to, to_at, size, (char **)&b->to, &b->to_pitch, &b->to_slice);
    return error;
}

static exec_error copy_3d(const copy3 *c, void *stream, bool now) {
    exec_block b;
    const exec_error error = cudart_block_of(c, &b);
    return error == EXEC_SUCCESS ? copy(&b, c->direction, stream, now) : error;
}

EXPORT exec_error cudaMemcpy3D(const copy3 *c) {
    EXEC_CALL(copy_3d(c, NULL, true));
}
SAME_AS(cudaMemcpy3D_ptds, cudaMemcpy3D);

EXPORT exec_error cudaMemcpy3DAsync(const copy3 *c, void *stream) {
    EXEC_CALL(copy_3d(c, stream, false));
}
SAME_AS(cudaMemcpy3DAsync_ptsz, cudaMemcpy3DAsync);

typedef struct copy3_peer {
    void *from_array;
    position from_at;
    pitched from;
    int from_device;
    void *to_array;
    position to_at;
    pitched to;
    int to_device;
    size3 size;
} copy3_peer;

static exec_error copy_3d_peer(const copy3_peer *p, void *stream, bool now) {
    if (p == NULL)
        return EXEC_INVALID_VALUE;
    if (p->from_device != 0 || p->to_device != 0)
        return EXEC_INVALID_DEVICE;
    const copy3 c = {p->from_array, p->from_at, p->from, p->to_array,
                     p->to_at,      p->to,      p->size, EXEC_DEVICE_TO_DEVICE};
    return copy_3d(&c, stream, now);
}

EXPORT exec_error cudaMemcpy3DPeer(const copy3_peer *p) {
    EXEC_CALL(copy_3d_peer(p, NULL, true));
}
SAME_AS(cudaMemcpy3DPeer_ptds, cudaMemcpy3DPeer);

EXPORT exec_error cudaMemcpy3DPeerAsync(const copy3_peer *p, void *stream) {
    EXEC_CALL(copy_3d_peer(p, stream, false));
}
SAME_AS(cudaMemcpy3DPeerAsync_ptsz, cudaMemcpy3DPeerAsync);

/* ---- variables ---- */

/* The part of a variable that a copy names. */
exec_error cudart_symbol_part(const void *symbol, size_t bytes, size_t at, char **address) {
    exec_variable *v;
    const exec_error error = exec_variable_of(symbol, &v);
    if (error != EXEC_SUCCESS)
        return error;
    if (at > v->bytes || bytes > v->bytes - at) {
        exec_problem(EXEC_PROBLEM_COPY, "%s: bytes %zu to %zu of variable %s, which has %zu",
                     exec_call_name(), at, at + bytes, v->name, v->bytes);
        return EXEC_INVALID_VALUE;
    }
    *address = v->address + at;
    return EXEC_SUCCESS;
}

static exec_error to_symbol(const void *symbol, const void *from, size_t bytes, size_t at,
                            int direction, void *stream, bool now) {
    char *to;
    const exec_error error = cudart_symbol_part(symbol, bytes, at, &to);
    if (error != EXEC_SUCCESS)
        return error;
    const exec_block b = exec_bytes(to, from, bytes);
    return copy(&b, direction, stream, now);
}

static exec_error from_symbol(void *to, const void *symbol, size_t bytes, size_t at, int direction,
                              void *stream, bool now) {
    char *from;
    const exec_error error = cudart_symbol_part(symbol, bytes, at, &from);
    if (error != EXEC_SUCCESS)
        return error;
    const exec_block b = exec_bytes(to, from, bytes);
    return copy(&b, direction, stream, now);
}

EXPORT exec_error cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t at,
                                     int direction) {
    EXEC_CALL(to_symbol(symbol, from, bytes, at, direction, NULL, true));
}
SAME_AS(cudaMemcpyToSymbol_ptds, cudaMemcpyToSymbol);

EXPORT exec_error cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes,
                                          size_t at, int direction, void *stream) {
    EXEC_CALL(to_symbol(symbol, from, bytes, at, direction, stream, false));
}
SAME_AS(cudaMemcpyToSymbolAsync_ptsz, cudaMemcpyToSymbolAsync);

EXPORT exec_error cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t at,
                                       int direction) {
    EXEC_CALL(from_symbol(to, symbol, bytes, at, direction, NULL, true));
}
SAME_AS(cudaMemcpyFromSymbol_ptds, cudaMemcpyFromSymbol);

EXPORT exec_error cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t at,
                                            int direction, void *stream) {
    EXEC_CALL(from_symbol(to, symbol, bytes, at, direction, stream, false));
}
SAME_AS(cudaMemcpyFromSymbolAsync_ptsz, cudaMemcpyFromSymbolAsync);

/* ---- fills ---- */

static exec_error set(const exec_fill *f, void *stream, bool now) {
    exec_stream *s;
    const exec_error error = exec_stream_of(stream, &s);
    return error == EXEC_SUCCESS ? exec_set(f, s, now) : error;
}

static exec_fill bytes_of(void *to, int value, size_t pitch, size_t width, size_t rows,
                          size_t planes, size_t slice) {
    return (exec_fill){to, (uint8_t)value, 1, width, rows, planes, pitch, slice};
}

EXPORT exec_error cudaMemset(void *to, int value, size_t bytes) {
    const exec_fill f = bytes_of(to, value, bytes, bytes, 1, 1, bytes);
    EXEC_CALL(set(&f, NULL, true));
}
SAME_AS(cudaMemset_ptds, cudaMemset);

EXPORT exec_error cudaMemsetAsync(void *to, int value, size_t bytes, void *stream) {
    const exec_fill f = bytes_of(to, value, bytes, bytes, 1, 1, bytes);
    EXEC_CALL(set(&f, stream, false));
}
SAME_AS(cudaMemsetAsync_ptsz, cudaMemsetAsync);

EXPORT exec_error cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t rows) {
    const exec_fill f = bytes_of(to, value, pitch, width, rows, 1, pitch * rows);
    EXEC_CALL(set(&f, NULL, true));
}
SAME_AS(cudaMemset2D_ptds, cudaMemset2D);

EXPORT exec_error cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t rows,
                                    void *stream) {
    const exec_fill f = bytes_of(to, value, pitch, width, rows, 1, pitch * rows);
    EXEC_CALL(set(&f, stream, false));
}
SAME_AS(cudaMemset2DAsync_ptsz, cudaMemset2DAsync);

EXPORT exec_error cudaMemset3D(pitched p, int value, size3 size) {
    const exec_fill f =
        bytes_of(p.memory, value, p.pitch, size.width, size.rows, size.planes, p.pitch * p.rows);
    EXEC_CALL(set(&f, NULL, true));
}
SAME_AS(cudaMemset3D_ptds, cudaMemset3D);

EXPORT exec_error cudaMemset3DAsync(pitched p, int value, size3 size, void *stream) {
    const exec_fill f =
        bytes_of(p.memory, value, p.pitch, size.width, size.rows, size.planes, p.pitch * p.rows);
    EXEC_CALL(set(&f, stream, false));
}
SAME_AS(cudaMemset3DAsync_ptsz, cudaMemset3DAsync);
