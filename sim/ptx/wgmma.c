/*
 * wgmma.mma_async. A warp of the four takes 16 rows of the product, and its fragments lie in its
 * lanes as those of mma.sync do: so each warp by itself is mma.sync's products, one for eight
 * columns, with operands that the descriptors find in shared memory. They are done at once, which
 * is as early as they may be.
 *
 * A descriptor: the address >> 4 in bits 0-13, the leading offset >> 4 in 16-29, the stride offset
 * >> 4 in 32-45, the base offset in 49-51, the swizzle in 62-63: none, 128, 64, 32 bytes. With
 * `chunk` for 16 bytes, and w for the chunks of a swizzled row, an element of row i lies
 *
 *     K-major    none       chunk k / 8 of the row: i % 8 * 16 + i / 8 * stride + chunk * leading
 *                swizzled   i % 8 * 16w + i / 8 * stride + chunk * 16
 *     MN-major   none       chunk i / 8: chunk * stride + k % 8 * 16 + k / 8 * leading
 *                swizzled   chunk % w * 16 + chunk / w * leading + k % 8 * 16w + k / 8 * stride
 *
 * bytes behind the beginning; a swizzle then takes bits 7 and up of the address, as many as w has,
 * to its bits 4 and up (CUTLASS, mma_sm90_desc.hpp, has these as layouts).
 */
#include "sim/ptx/internal.h"

#include "sim/block.h"

#include <inttypes.h>
#include <string.h>

enum { CHUNK = 16, WINDOW = (1 << 18) - 1, COLUMNS = 8 };

typedef struct matrix {
    const ptx_wgmma *w;
    uint64_t descriptor;
    bool transposed;
    uint32_t bytes; /* of an element */
    uint32_t negated;
    const ptx_site *site;
} matrix;

static uint32_t field(uint64_t descriptor, int from) {
    return (uint32_t)(descriptor >> from & 0x3fff) << 4;
}

/* The chunks of a swizzled row; 1: there is no swizzle. */
static uint32_t width_of(uint64_t descriptor) {
    const uint32_t swizzle = (uint32_t)(descriptor >> 62);
    return swizzle == 0 ? 1 : 16u >> swizzle;
}

static uint32_t offset_of(const matrix *m, uint32_t i, uint32_t k) {
    const uint64_t d = m->descriptor;
    const uint32_t leading = field(d, 16), stride = field(d, 32), w = width_of(d);
    const uint32_t along = m->transposed ? i : k; /* which counts within a chunk */
    const uint32_t chunk = along * m->bytes / CHUNK, rest = along * m->bytes % CHUNK;
    const uint32_t across = m->transposed ? k : i, row = across % 8, group = across / 8;
    uint32_t at = field(d, 0) + rest;
    if (!m->transposed)
        at += row * w * CHUNK + group * stride + chunk * (w == 1 ? leading : CHUNK);
    else if (w == 1)
        at += chunk * stride + row * CHUNK + group * leading;
    else
        at += chunk % w * CHUNK + chunk / w * leading + row * w * CHUNK + group * stride;
    at &= WINDOW;
    return at ^ (at >> 7 & (w - 1)) << 4;
}

SIM_REPORT static void report(const matrix *m, const char *what) {
    char where[SIM_POSITION];
    sim_defect("wrong wgmma", m->site->file, m->site->line, "%s: descriptor %016" PRIx64 ": %s",
               sim_block_thread_text(sim_now.block, sim_now.thread, where), m->descriptor, what);
    sim_abandon();
}

static uint32_t element(const matrix *m, uint32_t i, uint32_t k) {
    const uint32_t at = offset_of(m, i, k);
    uint32_t bits = 0;
    if (at + m->bytes > m->w->shared_bytes)
        report(m, "its matrix does not lie in the block's shared memory");
    trace_read(m->w->shared + at, m->bytes, m->site->file, m->site->line);
    memcpy(&bits, m->w->shared + at, m->bytes);
    return bits ^ m->negated;
}

/* A register: one number of 4 bytes, or two of 2. `k`: of the first. */
static uint32_t pair(const matrix *m, uint32_t i, uint32_t k) {
    return m->bytes == 4 ? element(m, i, k) : element(m, i, k) | element(m, i, k + 1) << 16;
}

static matrix matrix_of(const ptx_wgmma *w, uint64_t descriptor, bool transposed, bool negated,
                        const ptx_site *site) {
    const bool tf32 = w->product == PTX_M16N8K8_TF32;
    const matrix m = {
        .w = w,
        .descriptor = descriptor,
        .transposed = transposed,
        .bytes = tf32 ? 4 : 2,
        .negated = !negated ? 0
                   : tf32   ? UINT32_C(1) << 31
                            : UINT32_C(1) << 15,
        .site = site,
    };
    if ((descriptor >> 49 & 7) != 0)
        report(&m, "a base offset is not simulated");
    return m;
}

/* The fragment of this lane's warp; in registers both halves of a negated one change their sign. */
static void find_a(const ptx_wgmma *w, uint32_t a[4], const ptx_site *site) {
    const uint32_t lane = (uint32_t)sim_now.thread % 32, warp = (uint32_t)sim_now.thread / 32 % 4;
    const bool tf32 = w->product == PTX_M16N8K8_TF32;
    const uint32_t row = 16 * warp + lane / 4, per = tf32 ? 1 : 2;
    if (w->registers != NULL) {
        const uint32_t signs = tf32 ? UINT32_C(1) << 31 : UINT32_C(0x80008000);
        for (int i = 0; i < 4; ++i)
            a[i] = w->registers[i] ^ (w->negate_a ? signs : 0);
        return;
    }
    const matrix m = matrix_of(w, w->a, w->transposed_a, w->negate_a, site);
    for (uint32_t i = 0; i < 4; ++i)
        a[i] = pair(&m, row + 8 * (i & 1), per * (lane % 4 + 4 * (i >> 1)));
}

static void call_wgmma(const ptx_context *x, const ptx_wgmma *w, void *c, const ptx_site *site) {
    const uint32_t lane = (uint32_t)sim_now.thread % 32;
    const uint32_t per = w->product == PTX_M16N8K8_TF32 ? 1 : 2;
    const matrix m = matrix_of(w, w->b, w->transposed_b, w->negate_b, site);
    const uint32_t words = w->product == PTX_M16N8K16_F16_F16 ? 2 : 4; /* of a lane's sums */
    uint32_t a[4], b[2];
    find_a(w, a, site);
    for (uint32_t n = 0; n < w->columns; n += COLUMNS) {
        for (uint32_t i = 0; i < 2; ++i)
            b[i] = pair(&m, n + lane / 4, per * (lane % 4 + 4 * i));
        x->multiply(w->product, a, b, (char *)c + n / COLUMNS * words * sizeof(uint32_t), site);
    }
}

void ptx_wgmma_fill(ptx_context *x) {
    x->wgmma = call_wgmma;
}
