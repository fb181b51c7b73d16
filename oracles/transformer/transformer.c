/*
 * transformer: a decoder language model, whole: tokens, target (batches, b, t) and its parameters
 * -> logits (b, t, vocab) and loss (1), or, with steps=N, the losses (N) and the parameters after N
 * steps of AdamW.
 *
 *     x = embedding(tokens)
 *     x = x + O·attention(rope(Q h), rope(K h), V h), h = rmsnorm(x)      in each layer, and
 *     x = x + W2·swiglu(W1 h', W3 h'),                h' = rmsnorm(x)
 *     logits = head·rmsnorm(x),  loss = mean cross entropy over all b t tokens
 *
 * Products are y = x·Wᵀ without bias; column c of Q h belongs to head c / (d / heads). Attention is
 * causal, rope has theta 10⁴ and begins at 0, rmsnorm has eps 10⁻⁵. A step is the gradients of the
 * loss, then AdamW with betas 0.9 and 0.999, eps 10⁻⁸ and decoupled decay, on every parameter, the
 * norms' weights included; the steps cycle through the batches.
 *
 * It is composed of the registry's operators: the oracle of each is proven by itself, and
 * oracles/transformer/graph.c says how they are put together. Parameters are fp32 whatever the
 * dtype. Where that is bf16, kernels compute with parameters rounded to it; the definition takes
 * them as they are, and the rounding counts as an error of the kernel.
 */
#include "oracles/transformer/transformer.h"
#include "core/fill.h"
#include "oracles/common/draw.h"

#include <math.h>
#include <stdio.h>

static const char *const names[] = {"tiny", "small", "medium", "large", "xl", "2.7b", NULL};

/* vocab, d, ff, layers, heads of each size, in the order of the keys. */
enum { EXTENTS = TRANSFORMER_HEADS - TRANSFORMER_VOCAB + 1 };
static const int64_t extents[][EXTENTS] = {
    {256, 32, 64, 2, 2},         {10000, 768, 3072, 12, 12},  {10000, 1024, 4096, 24, 16},
    {10000, 1280, 5120, 36, 20}, {10000, 1600, 6400, 48, 25}, {10000, 2560, 10240, 32, 32},
};

static const assay_key keys[TRANSFORMER_KEYS] = {
    {"size", ASSAY_KEY_NAME, NULL, 0, 0, "gives what is 0 below"},
    {"b", ASSAY_KEY_INT, "4", 1, INT32_MAX, "batch: sequences"},
    {"t", ASSAY_KEY_INT, "32", 1, INT32_MAX, "context length: tokens of a sequence"},
    {"steps", ASSAY_KEY_INT, "0", 0, 100000, "0: forward, backward; N: training steps"},
    {"batches", ASSAY_KEY_INT, "1", 1, 100000, "batches that the steps cycle through"},
    {"vocab", ASSAY_KEY_INT, "0", 0, INT32_MAX, "vocabulary"},
    {"d", ASSAY_KEY_INT, "0", 0, INT32_MAX, "model dimension"},
    {"ff", ASSAY_KEY_INT, "0", 0, INT32_MAX, "dimension between w1, w3 and w2"},
    {"layers", ASSAY_KEY_INT, "0", 0, 1000, "layers"},
    {"heads", ASSAY_KEY_INT, "0", 0, INT32_MAX, "heads of d / heads dimensions each"},
    {"lr", ASSAY_KEY_REAL, "1e-3", 0, 1, "learning rate"},
    {"wd", ASSAY_KEY_REAL, "0.01", 0, 1, "weight decay"},
};
static const double default_lr = 1e-3, default_wd = 0.01;

static int64_t extent_of(const assay_params *params, int32_t key) {
    const int64_t given = params->item[key].value[0];
    const int64_t size = params->item[TRANSFORMER_SIZE].value[0];
    return given != 0 ? given : extents[size][key - TRANSFORMER_VOCAB];
}

transformer_sizes transformer_sizes_of(const assay_params *params) {
    transformer_sizes s = {.b = params->item[TRANSFORMER_B].value[0],
                           .t = params->item[TRANSFORMER_T].value[0],
                           .steps = params->item[TRANSFORMER_STEPS].value[0],
                           .batches = params->item[TRANSFORMER_BATCHES].value[0],
                           .vocab = extent_of(params, TRANSFORMER_VOCAB),
                           .d = extent_of(params, TRANSFORMER_D),
                           .ff = extent_of(params, TRANSFORMER_FF),
                           .layers = extent_of(params, TRANSFORMER_LAYERS),
                           .heads = extent_of(params, TRANSFORMER_HEADS),
                           .lr = params->item[TRANSFORMER_LR].real,
                           .wd = params->item[TRANSFORMER_WD].real};
    s.tokens = s.b * s.t;
    s.head_dim = s.d / s.heads;
    s.parameters = transformer_head(&s) + 1;
    return s;
}

int32_t transformer_layer(int64_t layer, int32_t which) {
    return 1 + (int32_t)layer * LAYER_PARAMETERS + which;
}

int32_t transformer_ln_final(const transformer_sizes *s) {
    return transformer_layer(s->layers, 0);
}

int32_t transformer_head(const transformer_sizes *s) {
    return transformer_ln_final(s) + 1;
}

/* ---- what is legal ---- */

static assay_status legal_heads(const transformer_sizes *s) {
    enum { MOST = 256 };
    if (s->d % s->heads != 0)
        return assay_fail(ASSAY_ERR_USAGE,
                          "transformer: d=%lld is not a multiple of heads=%lld; make it one",
                          (long long)s->d, (long long)s->heads);
    if (s->head_dim % 2 == 0 && s->head_dim <= MOST)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_USAGE,
                      "transformer: the head dimension d / heads = %lld must be even and at most "
                      "%d; change d or heads",
                      (long long)s->head_dim, MOST);
}

static assay_status legal_training(const assay_params *params) {
    const double lr = params->item[TRANSFORMER_LR].real, wd = params->item[TRANSFORMER_WD].real;
    const bool trains = params->item[TRANSFORMER_STEPS].value[0] > 0;
    if (!trains &&
        (lr != default_lr || wd != default_wd || params->item[TRANSFORMER_BATCHES].value[0] != 1))
        return assay_fail(ASSAY_ERR_USAGE, "transformer: lr, wd and batches mean nothing without "
                                           "training; leave them out, or give steps=1 or more");
    return ASSAY_OK;
}

static assay_status legal(assay_params *params) {
    if (params->math == ASSAY_TF32 && params->dtype != ASSAY_F32)
        return assay_fail(ASSAY_ERR_USAGE,
                          "transformer: math=tf32 is a mode of dtype=f32, not of %s; use "
                          "math=strict",
                          assay_dtype_name(params->dtype));
    const int64_t *of_size = extents[params->item[TRANSFORMER_SIZE].value[0]];
    for (int32_t key = TRANSFORMER_VOCAB; key <= TRANSFORMER_HEADS; ++key)
        if (params->item[key].value[0] == of_size[key - TRANSFORMER_VOCAB])
            params->item[key].value[0] = 0;
    const transformer_sizes s = transformer_sizes_of(params);
    const double tokens = (double)s.b * (double)s.t;
    const double width = fmax((double)s.vocab, fmax((double)s.d, (double)s.ff));
    const double elements = width * fmax(tokens * (double)s.batches, fmax(width, (double)s.steps));
    if (!(elements < 0x1p60 && tokens <= INT32_MAX))
        return assay_fail(ASSAY_ERR_USAGE,
                          "transformer: a tensor would have up to %.3g elements; make b, t, vocab, "
                          "d or ff smaller",
                          elements);
    const assay_status status = legal_heads(&s);
    return status == ASSAY_OK ? legal_training(params) : status;
}

/* ---- tensors ---- */

typedef struct shape {
    char name[ASSAY_TENSOR_NAME];
    int64_t rows, columns; /* rows 0: a vector */
} shape;

static const char *const layer_names[LAYER_PARAMETERS] = {
    "ln1", "attn.q_proj", "attn.k_proj", "attn.v_proj", "attn.output_proj",
    "ln2", "ffn.w1",      "ffn.w2",      "ffn.w3"};

static shape shape_of_layer(const transformer_sizes *s, int32_t index) {
    const int32_t layer = (index - 1) / LAYER_PARAMETERS, which = (index - 1) % LAYER_PARAMETERS;
    shape form = {.rows = s->d, .columns = s->d};
    if (which == LAYER_LN1 || which == LAYER_LN2)
        form.rows = 0;
    if (which == LAYER_W1 || which == LAYER_W3)
        form.rows = s->ff;
    if (which == LAYER_W2)
        form.columns = s->ff;
    snprintf(form.name, sizeof form.name, "layers.%d.%s.weight", layer, layer_names[which]);
    return form;
}

static shape shape_of(const transformer_sizes *s, int32_t index) {
    if (index == TRANSFORMER_EMBEDDING)
        return (shape){"token_embeddings.weight", s->vocab, s->d};
    if (index == transformer_ln_final(s))
        return (shape){"ln_final.weight", 0, s->d};
    if (index == transformer_head(s))
        return (shape){"lm_head.weight", s->vocab, s->d};
    return shape_of_layer(s, index);
}

/* Deviations that keep activations near 1: of a norm's weight about 1 (see transformer_data), of
 * an embedding, and of a product's weights. */
static double scale_of(const shape *form, int32_t index) {
    if (form->rows == 0)
        return 0.25;
    return index == TRANSFORMER_EMBEDDING ? 1 : 1 / sqrt((double)form->columns);
}

static assay_dtype parameter_dtype(const assay_params *params) {
    return params->dtype == ASSAY_F64 ? ASSAY_F64 : ASSAY_F32;
}

static assay_tensor_spec parameter(const char *prefix, const assay_params *params, int32_t index,
                                   bool differentiable) {
    const transformer_sizes s = transformer_sizes_of(params);
    const shape form = shape_of(&s, index);
    assay_tensor_spec spec = {.dtype = parameter_dtype(params),
                              .rank = form.rows > 0 ? 2 : 1,
                              .inner = 1,
                              .shape = {form.rows > 0 ? form.rows : form.columns, form.columns},
                              .scale = scale_of(&form, index),
                              .differentiable = differentiable};
    snprintf(spec.name, sizeof spec.name, "%s%s", prefix, form.name);
    return spec;
}

static assay_tensor_spec words(const char *name, const transformer_sizes *s) {
    assay_tensor_spec spec = {.dtype = ASSAY_I32,
                              .rank = 3,
                              .inner = 1,
                              .shape = {s->batches, s->b, s->t},
                              .indices = s->vocab};
    snprintf(spec.name, sizeof spec.name, "%s", name);
    return spec;
}

static void outputs_of_training(const assay_params *params, assay_signature *sig) {
    const transformer_sizes s = transformer_sizes_of(params);
    sig->out[TRANSFORMER_LOSSES] = (assay_tensor_spec){.name = "losses",
                                                       .dtype = parameter_dtype(params),
                                                       .rank = 1,
                                                       .inner = 1,
                                                       .shape = {s.steps},
                                                       .series = true};
    for (int32_t i = 0; i < s.parameters; ++i)
        sig->out[TRANSFORMER_FIRST_NEW + i] = parameter("new_", params, i, false);
}

static void outputs(const assay_params *params, assay_signature *sig) {
    const transformer_sizes s = transformer_sizes_of(params);
    sig->out[TRANSFORMER_LOGITS] = (assay_tensor_spec){.name = "logits",
                                                       .dtype = params->dtype,
                                                       .rank = 3,
                                                       .inner = 1,
                                                       .shape = {s.b, s.t, s.vocab}};
    sig->out[TRANSFORMER_LOSS] = (assay_tensor_spec){.name = "loss",
                                                     .dtype = parameter_dtype(params),
                                                     .rank = 1,
                                                     .inner = 1,
                                                     .shape = {1},
                                                     .differentiable = true};
}

assay_status transformer_signature(const assay_params *params, assay_signature *sig) {
    const transformer_sizes s = transformer_sizes_of(params);
    const bool trains = s.steps > 0;
    const assay_status status = assay_signature_init(
        sig, TRANSFORMER_FIRST + s.parameters, trains ? TRANSFORMER_FIRST_NEW + s.parameters : 2);
    if (status != ASSAY_OK)
        return status;
    sig->in[TRANSFORMER_TOKENS] = words("tokens", &s);
    sig->in[TRANSFORMER_TARGET] = words("target", &s);
    for (int32_t i = 0; i < s.parameters; ++i)
        sig->in[TRANSFORMER_FIRST + i] = parameter("", params, i, !trains);
    if (trains)
        outputs_of_training(params, sig);
    else
        outputs(params, sig);
    return ASSAY_OK;
}

/* ---- random cases ---- */

static void set(assay_params *params, int32_t key, int64_t value) {
    params->item[key].value[0] = value;
}

/* Every third case trains. */
static void draw_training(assay_rng *rng, assay_params *params) {
    static const double rates[] = {1e-3, 1e-2, 0.125}, decays[] = {0.01, 0, 0.5};
    if (assay_rng_between(rng, 0, 2) != 0)
        return;
    params->item[TRANSFORMER_LR].real = rates[assay_rng_between(rng, 0, 2)];
    params->item[TRANSFORMER_WD].real = decays[assay_rng_between(rng, 0, 2)];
    set(params, TRANSFORMER_STEPS, assay_rng_between(rng, 1, 3));
    set(params, TRANSFORMER_BATCHES, assay_rng_between(rng, 1, 2));
}

/*
 * Where the budget is small gradients are to be proven by differences: few tokens, because the
 * gradient of a mean of many is so much smaller than the loss that differences do not show it. Few
 * tokens and dimensions give too little to tell a kernel by, though: most gradients are small
 * beside what bf16 rounds. So there are more where the budget allows.
 */
static void draw(assay_rng *rng, double budget, assay_params *params) {
    enum { PRODUCTS = 12, PASSES = 3 }; /* d² of a layer, forward and two backward */
    const bool ample = budget >= 1e4;
    const bool tf32 = assay_rng_between(rng, 0, 2) == 0;
    if (tf32 && params->dtype == ASSAY_F32)
        params->math = ASSAY_TF32;
    for (int32_t key = 0; key < TRANSFORMER_LR; ++key) {
        params->item[key].count = 1;
        set(params, key, key == TRANSFORMER_BATCHES);
    }
    params->item[TRANSFORMER_LR].real = default_lr;
    params->item[TRANSFORMER_WD].real = default_wd;
    if (ample)
        draw_training(rng, params);
    const int64_t b = assay_rng_between(rng, 1, 2), layers = assay_rng_between(rng, 1, 2);
    const int64_t t = ample ? 4 + draw_extent(rng, 20) : assay_rng_between(rng, 2, 3);
    const double steps = fmax(1, (double)params->item[TRANSFORMER_STEPS].value[0]);
    const double room = budget / (PRODUCTS * PASSES * (double)(b * t * layers) * steps);
    const int64_t least = ample ? 6 : 0, widest = (int64_t)fmin(fmax(sqrt(room), 4), 96);
    const int64_t heads = ample ? draw_extent(rng, 8) : assay_rng_between(rng, 1, 3);
    const int64_t pairs = draw_extent(rng, widest / 2);
    set(params, TRANSFORMER_B, b);
    set(params, TRANSFORMER_T, t);
    set(params, TRANSFORMER_VOCAB, 2 + least + draw_extent(rng, 3 * widest));
    set(params, TRANSFORMER_D, 2 * heads * ((pairs + least + heads - 1) / heads));
    set(params, TRANSFORMER_FF, least + draw_extent(rng, widest));
    set(params, TRANSFORMER_LAYERS, layers);
    set(params, TRANSFORMER_HEADS, heads);
    (void)legal(params); /* canonical form */
}

/* Small models, so that the simulated device, whose threads are slow, takes little time. */
/* ---- work ---- */

/* Products alone, which are nearly all of it: two operations for each parameter of a matrix and
 * each token, and attention's; twice as many in backward. A training step has both. */
static void count_work(const assay_params *params, const assay_signature *sig, assay_stage stage,
                       assay_work *work) {
    (void)sig;
    const transformer_sizes s = transformer_sizes_of(params);
    const double d = (double)s.d, layers = (double)s.layers;
    const double matrices = layers * (4 * d * d + 3 * d * (double)s.ff) + (double)s.vocab * d;
    const double pairs = (double)s.b * (double)s.t * (double)(s.t + 1) / 2;
    const double forward = 2 * matrices * (double)s.tokens + 4 * layers * pairs * d;
    const double times = s.steps > 0 ? 3 * (double)s.steps : stage == ASSAY_FORWARD ? 1 : 2;
    work->flops = work->least = times * forward;
}

/* Each tensor of parameters has some kernels of its own, in each step. */
static double blocks(const assay_params *params) {
    static const double of_tensor = 3000;
    const transformer_sizes s = transformer_sizes_of(params);
    return of_tensor * s.parameters * fmax(1, (double)s.steps);
}

static const assay_case_group cases[] = {
    {ASSAY_SMOKE, "size=tiny b=2 t=6 vocab=40 d=16 ff=24 layers=1 heads=2 dtype=f32,bf16"},
    {ASSAY_SMOKE, "size=tiny b=1 t=7 vocab=19 d=12 ff=7 heads=3 dtype=f32,bf16 pad=3 misalign=1 "
                  "sched=reverse"},
    {ASSAY_SMOKE, "size=tiny b=2 t=5 vocab=33 d=8 ff=11 layers=1 dtype=f32 math=tf32 sched=warp"},
    {ASSAY_CI,
     "size=tiny b=1 t=128 vocab=11 d=8 ff=9 layers=1 heads=1 steps=0,1 dtype=bf16"}, /* cuDNN's */
    {ASSAY_SMOKE, "size=tiny b=2 t=4 vocab=11 d=8 ff=9 layers=1 steps=3 batches=2 dtype=f32,bf16"},
    {ASSAY_CI, "size=tiny b=2 t=4 vocab=11 d=8 ff=9 layers=1 steps=1,3 batches=2 dtype=f32,bf16 "
               "pad=2"},
    {ASSAY_SMOKE, "size=tiny b=1 t=5 vocab=23 d=6 ff=5 layers=1 heads=1 steps=2 lr=0.01 wd=0.25 "
                  "dtype=f32 math=tf32 misalign=5 sched=random seed=2"},
    {ASSAY_CI, "size=tiny b=1 t=16 dtype=f32,bf16"},
    {ASSAY_CI, "size=tiny b=2 t=9 dtype=f32 math=tf32 seed=1"},
    {ASSAY_CI, "size=tiny b=2 t=8 steps=1,5 dtype=f32 seed=1"},
    /* In bf16 the second layer's key weights hardly get gradients: after five steps they may still
     * be what they were, and nothing would be proven. */
    {ASSAY_CI, "size=tiny b=2 t=8 steps=1 dtype=bf16 seed=3"},
    {ASSAY_CI, "size=tiny b=2 t=8 steps=5 layers=1 dtype=bf16 seed=1"},
    {ASSAY_CI, "size=tiny b=1 t=8 steps=5 batches=2 dtype=f32 lr=0.01"},
    {ASSAY_CI, "size=tiny b=2 t=6 vocab=23 d=6 ff=5 layers=1 heads=1 steps=3 batches=2 lr=0.01 "
               "dtype=f32 math=tf32 seed=1"},
    {ASSAY_CI, "size=tiny b=3 t=11 vocab=17 d=6 ff=33 heads=3 dtype=f32,bf16 pad=1 misalign=3"},
    {ASSAY_CI, "size=tiny b=2 t=9 vocab=65 d=80 ff=31 layers=1 heads=1 dtype=f32,bf16"},
    {ASSAY_CI, "size=tiny b=2 t=33 vocab=29 d=16 ff=17 layers=3 heads=1 dtype=f32,bf16 seed=2"},
    {ASSAY_CI, "size=tiny b=1 t=2,17 vocab=5 d=10 ff=1 layers=1 heads=5 dtype=f32,bf16"},
    {ASSAY_CI, "size=tiny b=2 t=7 vocab=31 d=24 ff=40 layers=2 heads=2 fill=uniform,positive "
               "dtype=f32,bf16"},
    {ASSAY_CI, "size=tiny b=2 t=7 vocab=31 d=24 ff=40 layers=1 heads=2 fill=zeros dtype=f32,bf16"},
    {ASSAY_CI, "size=tiny b=2 t=5 vocab=300 d=16 ff=8 layers=1 heads=2 steps=2 dtype=f32,bf16 "
               "sched=random seed=3"},
    /* gradients so exact that a ten-thousandth of AdamW's factors shows */
    {ASSAY_CI,
     "size=tiny b=1 t=2 steps=5 batches=2 vocab=5 d=2 ff=3 layers=1 heads=1 lr=0.125 wd=0 "
     "dtype=f32 seed=2"},
    /* the layers and the heads that a size's name stands for */
    {ASSAY_CI, "size=small,medium,large,xl,2.7b b=1 t=3 vocab=7 d=2 ff=3 heads=1 dtype=f32"},
    {ASSAY_CI, "size=small b=1 t=3 vocab=7 d=24 ff=3 layers=1 dtype=f32"},
    {ASSAY_CI, "size=medium b=1 t=3 vocab=7 d=32 ff=3 layers=1 dtype=f32"},
    {ASSAY_CI, "size=large b=1 t=3 vocab=7 d=40 ff=3 layers=1 dtype=f32"},
    {ASSAY_CI, "size=xl b=1 t=3 vocab=7 d=50 ff=3 layers=1 dtype=f32"},
    {ASSAY_CI, "size=2.7b b=1 t=3 vocab=7 d=64 ff=3 layers=1 dtype=f32"},
    /* more elements between operators, and more angles, than the simulated device's grid has
     * threads; a token with more packs than a block; copies of several tiles, not aligned */
    {ASSAY_CI, "size=tiny b=2 t=170 vocab=5 d=16 ff=4 layers=1 heads=1 dtype=f32"},
    {ASSAY_CI, "size=tiny b=1 t=3 vocab=7 d=256 ff=3 layers=1 heads=32 dtype=f32"},
    {ASSAY_CI, "size=tiny b=1 t=3 vocab=600 d=16 ff=4 layers=1 heads=2 dtype=f32 pad=3 misalign=1"},
    /* heads of 64 columns and whole tiles of tokens: heads inside of v3_hopper's products */
    {ASSAY_CI, "size=tiny b=2 t=128 vocab=8 d=128 ff=16 layers=1 heads=2 dtype=bf16"},
    /* the gradient of a weight (136, 264) in shares of rows, in v3_hopper */
    {ASSAY_CI, "size=tiny b=1 t=3 vocab=8 d=136 ff=264 layers=1 heads=2 dtype=bf16"},
    /* a result alone not aligned, into which adamw writes: the embedding's table */
    {ASSAY_CI, "size=tiny b=2 t=4 vocab=11 d=8 ff=9 layers=1 steps=1 dtype=f32,bf16 misalign=23"},
    {ASSAY_NIGHTLY, "size=tiny dtype=f32,bf16"},
    {ASSAY_NIGHTLY, "size=tiny dtype=f32 math=tf32"},
    {ASSAY_NIGHTLY, "size=tiny t=64 steps=50 dtype=f32"},
    {ASSAY_NIGHTLY, "size=tiny t=64 steps=20 batches=4 dtype=bf16"},
    /* a single token: no gradient reaches q and k */
    {ASSAY_EDGE, "size=tiny b=2 t=1 vocab=5 d=10 ff=1 layers=1 heads=5 dtype=f32,bf16"},
    /* one word is certain: the loss and all gradients are 0 */
    {ASSAY_EDGE, "size=tiny b=1 t=1,3 vocab=1 d=4 ff=3 layers=1 heads=1 dtype=f32,bf16"},
    {ASSAY_BENCH, "size=small,medium,large,xl,2.7b t=128 dtype=bf16"},
    {ASSAY_BENCH, "size=small t=128 dtype=f32 math=strict,tf32"},
};

const assay_op assay_op_transformer = {
    .name = "transformer",
    .forward_formula = "x += attention(rope, rmsnorm(x)), x += W2 swiglu(W1, W3, rmsnorm(x)) in "
                       "each layer; loss = cross_entropy(head rmsnorm(x)); steps=N: AdamW",
    .backward_formula = "the gradient of every parameter",
    .keys = keys,
    .n_keys = TRANSFORMER_KEYS,
    .names = names,
    .own_forward = true,
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_F32) | ASSAY_DTYPE_BIT(ASSAY_BF16),
    .maths = ASSAY_MATH_BIT(ASSAY_STRICT) | ASSAY_MATH_BIT(ASSAY_TF32),
    .fills = ASSAY_FILL_BIT(ASSAY_FILL_ZEROS) | FILL_EQUAL,
    .legal = legal,
    .signature = transformer_signature,
    .data = transformer_data,
    .forward = transformer_forward,
    .backward = transformer_backward,
    .forward_plain = transformer_forward_plain,
    .backward_plain = transformer_backward_plain,
    .forward_bound = transformer_forward_bound,
    .backward_bound = transformer_backward_bound,
    .outside = transformer_outside,
    .work = count_work,
    .blocks = blocks,
    .draw = draw,
    .overhead = 32,
    .relations = transformer_relations,
    .n_relations = TRANSFORMER_RELATIONS,
    .cases = cases,
    .n_cases = sizeof cases / sizeof *cases,
};
