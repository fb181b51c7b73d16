#include "engine/pieces.h"
#include "core/mix.h"
#include "engine/check.h"
#include "engine/pattern.h"

#include "core/parallel.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a copy on the host; its values take up to four times that. */
enum { PIECE_BYTES = 1 << 26 };

/* Elements first..last, with the guards of a tensor's ends and the padding behind its rows. */
typedef struct piece {
    int64_t first, last;
    size_t from, to; /* bytes of the memory */
} piece;

/* One piece's room on the host. */
typedef struct room {
    const buffer *b;
    unsigned char *copy;
    double *values;
    piece at;
} room;

/* ---- cutting ---- */

static int64_t piece_elements(const buffer *b) {
    const int64_t length = assay_tensor_row_length(&b->tensor);
    const int64_t stride = assay_tensor_row_stride(&b->tensor);
    const int64_t spread = length > 0 ? (stride + length - 1) / length : 1;
    const int64_t most = PIECE_BYTES / ((int64_t)assay_dtype_size(b->tensor.dtype) * spread);
    const int64_t count = assay_tensor_count(&b->tensor);
    return most < 1 ? 1 : most < count ? most : count;
}

static piece piece_from(const buffer *b, int64_t first) {
    const int64_t count = assay_tensor_count(&b->tensor), length = piece_elements(b);
    piece p = {.first = first, .last = count - first < length ? count : first + length};
    p.from = first == 0 ? 0 : buffer_offset(b, first);
    p.to = p.last == count ? b->bytes : buffer_offset(b, p.last);
    return p;
}

/* Elements from one on that have no padding between them, up to `last`. */
static int64_t side_by_side(const buffer *b, int64_t element, int64_t last) {
    const int64_t length = assay_tensor_row_length(&b->tensor), rest = last - element;
    if (length == assay_tensor_row_stride(&b->tensor))
        return rest;
    const int64_t left = length - element % length;
    return left < rest ? left : rest;
}

static void room_clear(room *r) {
    free(r->copy);
    free(r->values);
    *r = (room){0};
}

/* Room for any of them, which holds the pattern. */
static assay_status room_init(room *r, const buffer *b) {
    const int64_t count = assay_tensor_count(&b->tensor);
    piece at = piece_from(b, 0);
    size_t bytes = at.to - at.from;
    while (at.last < count) {
        at = piece_from(b, at.last);
        bytes = at.to - at.from > bytes ? at.to - at.from : bytes;
    }
    *r = (room){.b = b,
                .copy = malloc(bytes),
                .values = malloc(((size_t)piece_elements(b) + 1) * sizeof *r->values)};
    if (r->copy && r->values) {
        pattern_fill(r->copy, 0, bytes);
        return ASSAY_OK;
    }
    room_clear(r);
    return assay_fail(ASSAY_ERR_MEMORY, "%s: no host memory for %zu bytes; make the case smaller",
                      b->name, bytes);
}

/* Calls `act` for each piece, with the room cut to it; an empty tensor has one, its guards. */
static assay_status each_piece(const buffer *b, assay_status (*act)(room *r, void *context),
                               void *context) {
    const int64_t count = assay_tensor_count(&b->tensor);
    room r;
    assay_status status = room_init(&r, b);
    if (status != ASSAY_OK)
        return status;
    r.at = piece_from(b, 0);
    status = act(&r, context);
    while (status == ASSAY_OK && r.at.last < count) {
        r.at = piece_from(b, r.at.last);
        status = act(&r, context);
    }
    room_clear(&r);
    return status;
}

/* ---- the fingerprint ---- */

/* Of bytes at a place of the memory: a sum, so that any order of them gives it. */
typedef struct print {
    const unsigned char *bytes;
    size_t count, place;
    _Atomic uint64_t sum;
} print;

enum { WORD = sizeof(uint64_t) };

static void add_words(void *context, int64_t first, int64_t last) {
    print *p = context;
    uint64_t sum = 0;
    for (int64_t w = first; w < last; ++w) {
        const size_t at = (size_t)w * WORD, left = p->count - at;
        uint64_t word = 0;
        memcpy(&word, p->bytes + at, left < WORD ? left : WORD);
        sum += mix(word ^ mix(p->place + at + 1));
    }
    p->sum += sum;
}

static uint64_t fingerprint(const room *r) {
    print p = {.bytes = r->copy, .count = r->at.to - r->at.from, .place = r->at.from};
    assay_parallel((int64_t)((p.count + WORD - 1) / WORD), add_words, &p);
    return p.sum;
}

/* ---- up ---- */

/* What the values of a piece are made of. */
typedef struct dealer {
    const room *r;
    const pieces *p;
} dealer;

static void deal_stretch(void *context, int64_t at, int64_t small, int64_t count) {
    const dealer *d = context;
    memcpy(d->r->values + (at - d->r->at.first), d->p->small + small,
           (size_t)count * sizeof *d->p->small);
}

static void deal(void *context, int64_t first, int64_t last) {
    const dealer *d = context;
    const int64_t from = d->r->at.first;
    sample_visit(d->p->s, d->p->axis, from + first, from + last, deal_stretch, context);
}

static void make_values(const room *r, const pieces *p) {
    const int64_t count = r->at.last - r->at.first;
    dealer d = {.r = r, .p = p};
    if (p->role == PIECES_INPUT || p->everywhere) {
        assay_parallel(count, deal, &d);
        return;
    }
    memset(r->values, 0, (size_t)count * sizeof *r->values);
    sample_visit_homes(p->s, p->axis, r->at.first, r->at.last, deal_stretch, &d);
}

typedef struct sender {
    buffer *b;
    const pieces *p;
    size_t begun; /* bytes at the start of the memory that hold the pattern, of an output */
} sender;

/* Of an output all is pattern: the device can copy what it has. */
static assay_status send_pattern(room *r, sender *s) {
    const size_t bytes = r->at.to - r->at.from;
    const assay_device *device = s->b->device;
    if (device->copy && bytes <= s->begun)
        return device->copy(s->b->memory + r->at.from, s->b->memory, bytes);
    if (r->at.from == 0)
        s->begun = bytes;
    return device->upload(s->b->memory + r->at.from, r->copy, bytes);
}

/* The pattern's period is two bytes, and elements begin at even ones. */
static assay_status send_piece(room *r, void *context) {
    sender *s = context;
    const piece at = r->at;
    if (s->p->role == PIECES_OUTPUT || s->p->role == PIECES_GRADIENT)
        return send_pattern(r, s);
    pattern_fill(r->copy, 0, at.to - at.from);
    make_values(r, s->p);
    buffer_convert(r->b, r->copy, at.from, at.first, at.last, r->values, NULL);
    s->b->fingerprint += fingerprint(r);
    return s->b->device->upload(s->b->memory + at.from, r->copy, at.to - at.from);
}

assay_status pieces_upload(buffer *b, const pieces *p) {
    sender s = {.b = b, .p = p};
    b->fingerprint = 0;
    buffer_guard(b, false);
    const assay_status status = each_piece(b, send_piece, &s);
    if (status == ASSAY_OK)
        buffer_guard(b, true);
    return status;
}

/* ---- back ---- */

static assay_status wrote_outside(const room *r, size_t byte) {
    return assay_fail_as(ASSAY_ERR_KERNEL, ASSAY_FAILURE_STRAY,
                         "wrote outside %s: byte %lld counted from its first element", r->b->name,
                         (long long)byte - (long long)r->b->first);
}

/* Guards, misalignment and padding of the piece. */
static assay_status check_gaps(const room *r) {
    const size_t size = assay_dtype_size(r->b->tensor.dtype);
    size_t from = r->at.from;
    for (int64_t e = r->at.first; e <= r->at.last;) {
        const size_t to = e < r->at.last ? buffer_offset(r->b, e) : r->at.to;
        const size_t at = pattern_breaks(r->copy + (from - r->at.from), from, to - from);
        if (at < to - from)
            return wrote_outside(r, from + at);
        if (e == r->at.last)
            break;
        const int64_t count = side_by_side(r->b, e, r->at.last);
        from = to + (size_t)count * size;
        e += count;
    }
    return ASSAY_OK;
}

/* The first element of a piece of which something is true. */
typedef struct search {
    const room *r;
    unsigned char pattern[sizeof(double)];
    _Atomic int64_t first; /* of the tensor; INT64_MAX: none */
} search;

static void found(search *s, int64_t element) {
    int64_t known = s->first;
    while (element < known && !atomic_compare_exchange_weak(&s->first, &known, element))
        continue;
}

/* The first of `count` elements side by side that is the pattern; `count`: none. */
static int64_t first_unwritten(const unsigned char *bytes, size_t size,
                               const unsigned char *pattern, int64_t count) {
    int64_t i = 0;
    while (i < count && (bytes[0] != pattern[0] || memcmp(bytes, pattern, size) != 0)) {
        bytes += size;
        ++i;
    }
    return i;
}

static void search_unwritten(void *context, int64_t first, int64_t last) {
    search *s = context;
    const room *r = s->r;
    for (int64_t i = first; i < last;) {
        const int64_t e = r->at.first + i, count = side_by_side(r->b, e, r->at.first + last);
        const int64_t n = first_unwritten(r->copy + (buffer_offset(r->b, e) - r->at.from),
                                          assay_dtype_size(r->b->tensor.dtype), s->pattern, count);
        if (n < count) {
            found(s, e + n);
            return;
        }
        i += count;
    }
}

static assay_status check_written(const room *r, const pieces *p) {
    search s = {.r = r, .first = INT64_MAX};
    char at[128];
    pattern_fill(s.pattern, 0, sizeof s.pattern);
    assay_parallel(r->at.last - r->at.first, search_unwritten, &s);
    if (s.first == INT64_MAX)
        return ASSAY_OK;
    return assay_fail_as(ASSAY_ERR_KERNEL, ASSAY_FAILURE_WRONG, "left %s unwritten, first at %s",
                         r->b->name,
                         assay_index_text(p->whole->rank, p->whole->shape, s.first, at));
}

/* What becomes of a piece's values. */
typedef struct taker {
    const room *r;
    const pieces *p;
    const pieces_got *got;
} taker;

static void take_home(void *context, int64_t at, int64_t small, int64_t count) {
    const taker *t = context;
    memcpy(t->got->home + small, t->r->values + (at - t->r->at.first),
           (size_t)count * sizeof *t->got->home);
}

/* Once NaN, it stays so. */
static void lower(_Atomic double *least, double value) {
    double known = atomic_load_explicit(least, memory_order_relaxed);
    while (!(value >= known) && !isnan(known) &&
           !atomic_compare_exchange_weak(least, &known, value))
        continue;
}

static void raise(_Atomic double *greatest, double value) {
    double known = atomic_load_explicit(greatest, memory_order_relaxed);
    while (!(value <= known) && !isnan(known) &&
           !atomic_compare_exchange_weak(greatest, &known, value))
        continue;
}

static void widen_range(void *context, int64_t at, int64_t small, int64_t count) {
    const taker *t = context;
    const double *value = t->r->values + (at - t->r->at.first);
    for (int64_t i = 0; i < count; ++i) {
        lower(&t->got->low[small + i], value[i]);
        raise(&t->got->high[small + i], value[i]);
    }
}

static void widen_ranges(void *context, int64_t first, int64_t last) {
    const taker *t = context;
    const int64_t from = t->r->at.first;
    sample_visit(t->p->s, t->p->axis, from + first, from + last, widen_range, context);
}

/* The rest of a gradient must be 0. */
static void clear_home(void *context, int64_t at, int64_t small, int64_t count) {
    const taker *t = context;
    (void)small;
    memset(t->r->values + (at - t->r->at.first), 0, (size_t)count * sizeof *t->r->values);
}

static void search_nonzero(void *context, int64_t first, int64_t last) {
    search *s = context;
    for (int64_t i = first; i < last; ++i)
        if (!(s->r->values[i] == 0)) {
            found(s, s->r->at.first + i);
            return;
        }
}

static assay_status check_zero(const room *r, const pieces *p) {
    search s = {.r = r, .first = INT64_MAX};
    char at[128];
    assay_parallel(r->at.last - r->at.first, search_nonzero, &s);
    if (s.first == INT64_MAX)
        return ASSAY_OK;
    return assay_fail_as(ASSAY_ERR_KERNEL, ASSAY_FAILURE_WRONG,
                         "%s is %.9g at %s, where the row's cotangents are 0", r->b->name,
                         r->values[s.first - r->at.first],
                         assay_index_text(p->whole->rank, p->whole->shape, s.first, at));
}

typedef struct receiver {
    buffer *b;
    const pieces *p;
    const pieces_got *got;
    uint64_t fingerprint;
} receiver;

static assay_status download(room *r, receiver *to) {
    const piece at = r->at;
    const assay_status status =
        to->b->device->download(r->copy, to->b->memory + at.from, at.to - at.from);
    if (status == ASSAY_OK)
        to->fingerprint += fingerprint(r);
    return status;
}

static assay_status receive(room *r, void *context) {
    receiver *to = context;
    const pieces *p = to->p;
    assay_status status = download(r, to);
    if (status == ASSAY_OK)
        status = check_gaps(r);
    if (status == ASSAY_OK)
        status = check_written(r, p);
    if (status != ASSAY_OK)
        return status;
    buffer_convert(r->b, r->copy, r->at.from, r->at.first, r->at.last, NULL, r->values);
    taker t = {.r = r, .p = p, .got = to->got};
    sample_visit_homes(p->s, p->axis, r->at.first, r->at.last, take_home, &t);
    if (to->got->low)
        assay_parallel(r->at.last - r->at.first, widen_ranges, &t);
    if (p->role == PIECES_OUTPUT || p->everywhere)
        return ASSAY_OK;
    sample_visit_homes(p->s, p->axis, r->at.first, r->at.last, clear_home, &t);
    return check_zero(r, p);
}

assay_status pieces_take_back(buffer *b, const pieces *p, const pieces_got *got) {
    receiver to = {.b = b, .p = p, .got = got};
    buffer_guard(b, false);
    const assay_status status = each_piece(b, receive, &to);
    buffer_guard(b, true);
    b->fingerprint = to.fingerprint;
    return status;
}

static assay_status receive_again(room *r, void *context) {
    return download(r, context);
}

assay_status pieces_check_unchanged(buffer *b) {
    receiver to = {.b = b};
    buffer_guard(b, false);
    assay_status status = each_piece(b, receive_again, &to);
    buffer_guard(b, true);
    if (status == ASSAY_OK && to.fingerprint != b->fingerprint)
        status = assay_fail_as(ASSAY_ERR_KERNEL, ASSAY_FAILURE_STRAY,
                               "changed its input %s, in this call or before", b->name);
    return status;
}
