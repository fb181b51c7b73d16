#include "sim/exec/view.h"

#include "sim/exec/call.h"
#include "sim/exec/report.h"

#include <string.h>

/* As cudaResourceViewFormat numbers them: 1, 2 and 4 channels of each kind; behind them formats of
 * compressed blocks. */
static bool set_format(int format, sim_image *m) {
    static const struct {
        sim_channel format;
        uint32_t bits;
    } kinds[] = {{SIM_CHANNEL_UNSIGNED, 8}, {SIM_CHANNEL_SIGNED, 8},    {SIM_CHANNEL_UNSIGNED, 16},
                 {SIM_CHANNEL_SIGNED, 16},  {SIM_CHANNEL_UNSIGNED, 32}, {SIM_CHANNEL_SIGNED, 32},
                 {SIM_CHANNEL_FLOAT, 16},   {SIM_CHANNEL_FLOAT, 32}};
    enum { KINDS = sizeof kinds / sizeof kinds[0] };
    const uint32_t before = m->channels * m->bits;
    if (format == 0)
        return true;
    m->format = kinds[(format - 1) / 3 % KINDS].format;
    m->bits = kinds[(format - 1) / 3 % KINDS].bits;
    m->channels = 1u << (format - 1) % 3;
    return format > 0 && (format - 1) / 3 < KINDS && m->channels * m->bits == before;
}

static exec_error narrow(const exec_view *v, sim_image *m) {
    const bool layers = m->layered || m->cube;
    uint32_t *const n = &m->size[m->dimensions];
    if (!set_format(v->format, m))
        return EXEC_INVALID_VALUE;
    if (!layers)
        return v->first_layer == 0 && v->last_layer == 0 ? EXEC_SUCCESS : EXEC_INVALID_VALUE;
    if (v->first_layer > v->last_layer || v->last_layer >= *n)
        return EXEC_INVALID_VALUE;
    m->memory += v->first_layer * m->slice;
    *n = v->last_layer - v->first_layer + 1;
    return !m->cube || *n % 6 == 0 ? EXEC_SUCCESS : EXEC_INVALID_VALUE;
}

exec_error exec_view_apply(const exec_view *v, sim_texture *t) {
    enum { COMPRESSED = 0x19, LAST = 0x22 };
    if (v->format >= COMPRESSED && v->format <= LAST) {
        exec_problem(EXEC_PROBLEM_NOT_SIMULATED, "%s of compressed blocks is not simulated",
                     exec_call_name());
        return EXEC_NOT_SUPPORTED;
    }
    const sim_image *m = &t->level[0];
    if (v->width != m->size[0] || (m->dimensions > 1 && v->rows != m->size[1]) ||
        v->first_level > v->last_level || v->last_level >= t->n_levels)
        return EXEC_INVALID_VALUE;
    t->n_levels = v->last_level - v->first_level + 1;
    memmove(t->level, t->level + v->first_level, t->n_levels * sizeof t->level[0]);
    exec_error error = EXEC_SUCCESS;
    for (uint32_t i = 0; i < t->n_levels && error == EXEC_SUCCESS; ++i)
        error = narrow(v, &t->level[i]);
    return error;
}
