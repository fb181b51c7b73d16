#include "mutants/planted.h"

#include "assay/rng.h"
#include "engine/buffer.h"
#include "engine/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Sizes go up to what a simulated device checks in seconds: beyond that only a GPU can tell. */
static const double largest_size = 1 << 20;
enum { BLOCK = 256, LINE = 256, NEAR = 8, WAYS = 3, VALUES = 5 };

const char *planted_class_name(planted_class kind) {
    static const char *const names[PLANTED_CLASSES] = {"size",     "attribute", "offset", "block",
                                                       "relation", "rows",      "value"};
    return names[kind];
}

/* ---- the faults that may be planted ---- */

static bool holds_integers(const assay_key *key) {
    return key->kind == ASSAY_KEY_INT || key->kind == ASSAY_KEY_LIST;
}

static assay_status first_case(const assay_case *c, void *context) {
    *(assay_case *)context = *c;
    return assay_fail(ASSAY_ERR_UNSUPPORTED, "one is enough");
}

static double elements(const assay_op *op, const assay_params *params) {
    assay_signature sig;
    double count = 0;
    if (op->signature(params, &sig) != ASSAY_OK)
        return 0;
    for (int32_t i = 0; i < sig.n_in; ++i)
        count += (double)assay_spec_count(&sig.in[i]);
    for (int32_t o = 0; o < sig.n_out; ++o)
        count += (double)assay_spec_count(&sig.out[o]);
    assay_signature_clear(&sig);
    return count;
}

/* Whether a larger number means larger tensors: in the first case that the operator has. A
 * number that is not legal then is held to be a size: a number of groups, say, that must divide
 * another. */
static bool is_size(const assay_op *op, int32_t key) {
    assay_case c = {0};
    (void)!assay_op_visit_set(op, ASSAY_SMOKE, first_case, &c);
    if (!c.op || !holds_integers(&op->keys[key]) || op->keys[key].high < 8)
        return false;
    const double before = elements(op, &c.params);
    assay_param *p = &c.params.item[key];
    p->value[0] = 2 * p->value[0] + 2;
    p->count = p->count > 0 ? p->count : 1;
    return op->legal(&c.params) != ASSAY_OK || elements(op, &c.params) > before;
}

static int32_t sizes_of(const assay_op *op, int32_t keys[ASSAY_MAX_KEYS]) {
    int32_t n = 0;
    for (int32_t k = 0; k < op->n_keys; ++k)
        if (is_size(op, k))
            keys[n++] = k;
    return n;
}

int32_t planted_sites(const assay_op *op, planted_site site[PLANTED_SITES]) {
    int32_t n = 0, sizes[ASSAY_MAX_KEYS];
    for (int32_t k = 0; k < op->n_keys; ++k)
        site[n++] = (planted_site){is_size(op, k) ? PLANTED_SIZE : PLANTED_ATTRIBUTE, k};
    for (int kind = PLANTED_OFFSET; kind < PLANTED_CLASSES; ++kind)
        if (kind != PLANTED_RELATION || sizes_of(op, sizes) > 1)
            site[n++] = (planted_site){(planted_class)kind, -1};
    return n;
}

/* ---- one fault ---- */

static double log_between(assay_rng *rng, double low, double high) {
    const double u = assay_rng_uniform(rng->seed, rng->stream, rng->next++);
    return fmin(fmax(low * exp2(u * log2(high / low)), low), high);
}

/* The longest list of ones that is legal, of those that follow it by default as well. */
static int32_t longest_list(const assay_op *op, int32_t key) {
    assay_case c = {0};
    (void)!assay_op_visit_set(op, ASSAY_SMOKE, first_case, &c);
    int32_t most = 1;
    for (int32_t n = 2; n <= ASSAY_MAX_LIST; ++n) {
        assay_params p = c.params;
        for (int32_t k = 0; k < op->n_keys; ++k)
            for (int32_t i = 0; op->keys[k].kind == ASSAY_KEY_LIST && i < n; ++i) {
                p.item[k].count = n;
                p.item[k].value[i] = (int64_t)fmax(op->keys[key].low, 1);
            }
        if (op->legal(&p) == ASSAY_OK)
            most = n;
    }
    return most;
}

static void draw_size(assay_rng *rng, planted *p) {
    const assay_key *key = &p->op->keys[p->key];
    const int32_t longest = key->kind == ASSAY_KEY_LIST ? longest_list(p->op, p->key) : 1;
    p->axes = longest > 1 && assay_rng_between(rng, 0, 3) == 0;
    p->at = p->axes ? (double)assay_rng_between(rng, 2, longest)
                    : floor(log_between(rng, fmax(key->low, 1), fmin(key->high, largest_size)));
    snprintf(p->text, sizeof p->text, "%s%s >= %.15g", p->axes ? "axes of " : "", key->name, p->at);
}

static void draw_attribute(assay_rng *rng, planted *p) {
    const assay_key *key = &p->op->keys[p->key];
    p->below = assay_rng_between(rng, 0, 1) == 0;
    if (key->kind == ASSAY_KEY_NAME) {
        int64_t names = 0;
        while (p->op->names[names])
            ++names;
        p->at = (double)assay_rng_between(rng, 0, names - 1);
        snprintf(p->text, sizeof p->text, "%s = %s", key->name, p->op->names[(int64_t)p->at]);
        return;
    }
    const bool real = key->kind == ASSAY_KEY_REAL;
    const double low = key->low > 0 ? key->low : real ? key->high * 0x1p-40 : 1;
    p->at = log_between(rng, low, key->high);
    if (!real) /* at most the largest always holds, and at least the smallest */
        p->at = p->below ? floor(p->at) - 1 : ceil(p->at);
    p->at = fmax(p->at, key->low);
    snprintf(p->text, sizeof p->text, "%s %s %.9g", key->name, p->below ? "<=" : ">=", p->at);
}

static void draw_relation(assay_rng *rng, planted *p) {
    int32_t sizes[ASSAY_MAX_KEYS];
    const int32_t n = sizes_of(p->op, sizes);
    const int64_t a = assay_rng_between(rng, 0, n - 1), b = assay_rng_between(rng, 1, n - 1);
    p->key = sizes[a];
    p->other = sizes[(a + b) % n];
    p->times = 1;
    if (assay_rng_between(rng, 0, 3) == 0)
        p->times = assay_rng_between(rng, 2, 4);
    else
        p->apart = assay_rng_between(rng, -NEAR, NEAR);
    snprintf(p->text, sizeof p->text, "%s = %lld %s %+lld", p->op->keys[p->key].name,
             (long long)p->times, p->op->keys[p->other].name, (long long)p->apart);
}

/* Of a call's tensors, which case.h numbers: inputs, outputs, cotangents, gradients. NULL: there is
 * none of that number, as there is no gradient of indices. */
static const assay_tensor_spec *tensor_of(const assay_op *op, const assay_signature *sig,
                                          int32_t number) {
    const int32_t each = sig->n_in + sig->n_out, i = number % each;
    const bool late = number >= each;
    const assay_tensor_spec *spec = late
                                        ? (i < sig->n_out ? &sig->out[i] : &sig->in[i - sig->n_out])
                                        : (i < sig->n_in ? &sig->in[i] : &sig->out[i - sig->n_in]);
    return late && (!op->backward || !spec->differentiable) ? NULL : spec;
}

/* Which number a tensor drawn as `any` has, of those that are there in the operator's first case.
 */
static int32_t number_of_tensor(const assay_op *op, int32_t any) {
    assay_case c = {0};
    assay_signature sig;
    (void)!assay_op_visit_set(op, ASSAY_SMOKE, first_case, &c);
    if (!c.op || op->signature(&c.params, &sig) != ASSAY_OK)
        return any;
    const int32_t all = 2 * (sig.n_in + sig.n_out);
    int32_t number = any % all;
    while (!tensor_of(op, &sig, number)) /* there is an input */
        number = (number + 1) % all;
    assay_signature_clear(&sig);
    return number;
}

void planted_draw(const assay_op *op, planted_site site, uint64_t seed, int64_t index, planted *p) {
    enum { DRAWS = 64 };
    static const char *const values[VALUES] = {"-0", "0", "a subnormal", "1", "the largest"};
    static const char *const ways[WAYS] = {"two rows", "all rows", "all elements"};
    char name[96];
    snprintf(name, sizeof name, "planted %s %s %s", op->name, planted_class_name(site.kind),
             site.key >= 0 ? op->keys[site.key].name : "");
    assay_rng rng = {
        .seed = seed, .stream = assay_rng_stream(name), .next = (uint64_t)index * DRAWS};
    *p = (planted){.op = op, .kind = site.kind, .key = site.key, .other = -1};
    p->spot = assay_rng_bits(rng.seed, rng.stream, rng.next++);
    p->tensor = (int32_t)assay_rng_between(&rng, 0, 63);
    switch (site.kind) {
    case PLANTED_SIZE:
        draw_size(&rng, p);
        break;
    case PLANTED_ATTRIBUTE:
        draw_attribute(&rng, p);
        break;
    case PLANTED_OFFSET: /* in bytes, of the smallest dtype's elements */
        p->apart = 2 * assay_rng_between(&rng, 1, LINE / 2 - 1);
        p->tensor = number_of_tensor(op, p->tensor);
        snprintf(p->text, sizeof p->text, "tensor %d at byte %lld", p->tensor, (long long)p->apart);
        break;
    case PLANTED_BLOCK:
        p->block = (int64_t)log_between(&rng, 1, largest_size / BLOCK);
        snprintf(p->text, sizeof p->text, "block %lld", (long long)p->block);
        break;
    case PLANTED_RELATION:
        draw_relation(&rng, p);
        break;
    case PLANTED_ROWS:
        p->way = (int32_t)assay_rng_between(&rng, 0, WAYS - 1);
        snprintf(p->text, sizeof p->text, "%s of input %d equal", ways[p->way], p->tensor);
        break;
    case PLANTED_VALUE:
        p->way = (int32_t)assay_rng_between(&rng, 0, VALUES - 1);
        snprintf(p->text, sizeof p->text, "input %d has %s", p->tensor, values[p->way]);
        break;
    }
}

/* ---- its predicate ---- */

bool planted_needs_data(const planted *p) {
    return p->kind == PLANTED_ROWS || p->kind == PLANTED_VALUE;
}

static double number_of(const planted *p, const assay_case *c, int32_t key) {
    const assay_param *param = &c->params.item[key];
    double product = 1;
    if (p->op->keys[key].kind == ASSAY_KEY_REAL)
        return param->real;
    if (p->axes)
        return param->count;
    for (int32_t i = 0; i < param->count; ++i)
        product *= (double)param->value[i];
    return product;
}

/* Where the tensor that the fault speaks of lies. */
static bool is_at_offset(const planted *p, const assay_case *c, const assay_signature *sig) {
    const int32_t number = p->tensor % (2 * (sig->n_in + sig->n_out));
    const assay_tensor_spec *spec = tensor_of(p->op, sig, number);
    if (!spec)
        return false;
    const int64_t size = (int64_t)assay_dtype_size(spec->dtype);
    const int64_t whole = p->apart / size * size; /* offsets are of whole elements */
    const int64_t wanted = whole > 0 ? whole : size;
    return buffer_spacing(c, number).shift * size % LINE == wanted;
}

/* A result that has the element: outputs, then gradients. */
static bool has_block(const planted *p, const assay_signature *sig) {
    for (int32_t o = 0; o < sig->n_out; ++o)
        if (assay_spec_count(&sig->out[o]) > p->block * BLOCK)
            return true;
    for (int32_t i = 0; i < sig->n_in; ++i)
        if (sig->in[i].differentiable && assay_spec_count(&sig->in[i]) > p->block * BLOCK)
            return true;
    return false;
}

static bool has_equal_rows(const planted *p, const assay_problem *problem) {
    const int32_t i = p->tensor % problem->sig.n_in;
    const assay_tensor_spec *spec = &problem->sig.in[i];
    const int64_t count = problem->in.size[i];
    const int64_t length = spec->rank > 0 ? spec->shape[spec->rank - 1] : 1;
    const int64_t row = p->way == 2 || spec->rank < 2 ? 1 : length;
    const double *x = problem->in.data[i];
    if (row == 0 || count < 2 * row)
        return false;
    const int64_t last = p->way == 0 ? 1 : count / row - 1; /* way 0: the first two */
    for (int64_t r = 1; r <= last; ++r)
        if (memcmp(x, x + r * row, (size_t)row * sizeof *x) != 0)
            return false;
    return true;
}

static bool is_special(const planted *p, assay_dtype dtype, double x) {
    switch (p->way) {
    case 0:
        return x == 0 && signbit(x);
    case 1:
        return x == 0;
    case 2: {
        const double normal =
            ldexp(assay_dtype_denorm_min(dtype), assay_dtype_significand(dtype) - 1);
        return x != 0 && fabs(x) < normal;
    }
    case 3:
        return x == 1;
    default:
        return fabs(x) == assay_dtype_max(dtype);
    }
}

/* Indices have 0 and 1 alone. */
static bool has_value(const planted *p, const assay_problem *problem) {
    const int32_t i = p->tensor % problem->sig.n_in;
    const assay_dtype dtype = problem->sig.in[i].dtype;
    for (int64_t e = 0; e < problem->in.size[i]; ++e)
        if (dtype == ASSAY_I32 ? problem->in.data[i][e] == (p->way == 3 ? 1 : 0)
                               : is_special(p, dtype, problem->in.data[i][e]))
            return true;
    return false;
}

bool planted_holds(const planted *p, const assay_case *c, const assay_signature *sig,
                   const assay_problem *problem) {
    switch (p->kind) {
    case PLANTED_SIZE:
        return number_of(p, c, p->key) >= p->at;
    case PLANTED_ATTRIBUTE: {
        const double x = number_of(p, c, p->key);
        if (p->op->keys[p->key].kind == ASSAY_KEY_NAME)
            return x == p->at;
        return p->below ? x <= p->at : x >= p->at;
    }
    case PLANTED_OFFSET:
        return is_at_offset(p, c, sig);
    case PLANTED_BLOCK:
        return has_block(p, sig);
    case PLANTED_RELATION:
        return number_of(p, c, p->key) ==
               (double)p->times * number_of(p, c, p->other) + (double)p->apart;
    case PLANTED_ROWS:
        return has_equal_rows(p, problem);
    case PLANTED_VALUE:
        return has_value(p, problem);
    }
    return false;
}

/* ---- v1 with a fault ---- */

/* A variant's functions get nothing but the call. */
static struct {
    const planted *fault;
    const assay_variant *v1;
    bool done; /* one element of a case is enough */
} wearing;

static void flip(const assay_tensor *t, int64_t element) {
    const int64_t length = assay_tensor_row_length(t);
    const int64_t place = element / length * assay_tensor_row_stride(t) + element % length;
    unsigned char *at = (unsigned char *)t->data + (size_t)place * assay_dtype_size(t->dtype);
    double value;
    assay_dtype_widen(t->dtype, at, &value, 1);
    value = value == 0 ? 1 : -value;
    assay_dtype_narrow(t->dtype, &value, at, 1);
    wearing.done = true;
}

/* Forward or backward, where there is one; a block is wrong where there is room for it. */
static bool is_chosen(const planted *p, assay_stage stage) {
    return stage == ASSAY_BACKWARD || p->spot / 8 % 2 == 0 || p->kind == PLANTED_BLOCK ||
           !p->op->backward;
}

static void spoil(const assay_call *call, assay_stage stage) {
    const planted *p = wearing.fault;
    const int64_t first = p->block * BLOCK;
    for (int32_t n = 0; n < call->n_out && !wearing.done && is_chosen(p, stage); ++n) {
        const assay_tensor *t = &call->out[(n + (int32_t)(p->spot % 8)) % call->n_out];
        const int64_t count = assay_tensor_count(t), after = count - first;
        const int64_t most = p->kind == PLANTED_BLOCK && after > BLOCK ? BLOCK : after;
        if (after > 0)
            flip(t, first + (int64_t)(p->spot / 16 % (uint64_t)most));
    }
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    return wearing.v1->supports ? wearing.v1->supports(stage, call) : ASSAY_OK;
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    return wearing.v1->workspace ? wearing.v1->workspace(stage, call) : 0;
}

static assay_status forward(const assay_call *call) {
    const assay_status status = wearing.v1->forward(call);
    if (status == ASSAY_OK)
        spoil(call, ASSAY_FORWARD);
    return status;
}

static assay_status backward(const assay_call *call) {
    const assay_status status = wearing.v1->backward(call);
    if (status == ASSAY_OK)
        spoil(call, ASSAY_BACKWARD);
    return status;
}

assay_status planted_is_found(const planted *p, const assay_case *c, const assay_device *device,
                              bool *found) {
    static const char *const name = "planted";
    assay_variant variant = {.op = p->op->name,
                             .name = name,
                             .device = device->name,
                             .summary = "v1 with a planted fault",
                             .supports = supports,
                             .workspace = workspace,
                             .forward = forward,
                             .backward = backward};
    wearing.fault = p;
    wearing.done = false;
    wearing.v1 = NULL;
    for (int32_t v = 0; v < device->n_variants; ++v)
        if (strcmp(device->variants[v]->op, p->op->name) == 0 &&
            strcmp(device->variants[v]->name, "v1") == 0)
            wearing.v1 = device->variants[v];
    if (!wearing.v1)
        return assay_fail(ASSAY_ERR_UNSUPPORTED, "%s has no v1 here", p->op->name);
    const assay_variant *both[] = {wearing.v1, &variant};
    assay_device with = *device;
    with.variants = both;
    with.n_variants = 2;
    assay_report report;
    const assay_status status = assay_check_numbers(c, &with, &name, 1, &report);
    *found = false;
    if (status != ASSAY_OK)
        return status;
    *found = report.verdict == ASSAY_FAIL || report.verdict == ASSAY_ERROR;
    assay_report_clear(&report);
    return ASSAY_OK;
}
