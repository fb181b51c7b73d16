#include "bench/experiments.h"

#include "bench/seeds/seeds.h"

#include <string.h>

static const bench_group kronecker[] = {
    {.words = "b=16 f=32x32 dtype=f32"},
    {.words = "b=32 f=128x128 dtype=f32"},
    {.words = "b=1024 f=8x8x8x8x8,16x16x16x16,32x32x32,64x64,128x128 dtype=f32",
     .without_v1 = true},
    {.words = "b=1024 f=8x8x8x8x8x8,64x64x64 dtype=f32", .without_v1 = true},
    {.words = NULL},
};

static const bench_group weighted_sum[] = {
    {.words = "n=64 d=128 dtype=f32"},
    {.words = "n=256 d=512 dtype=f32"},
    {.words = "n=1024 d=2048 dtype=f32"},
    {.words = "n=65536 d=8192 dtype=f32", .without_v1 = true},
    {.words = NULL},
};

static const bench_group matmul_accumulate[] = {
    {.words = "m=64 n=64 k=64 iters=50 dtype=f32"},
    {.words = "m=128 n=128 k=128 iters=50 dtype=f32"},
    {.words = "m=256 n=256 k=256 iters=10,25,50,100,200 dtype=f32"},
    {.words = "m=512 n=512 k=512 iters=50 dtype=f32"},
    {.words = "m=1024 n=1024 k=1024 iters=50 dtype=f32"},
    {.words = "m=4096 n=4096 k=4096 dtype=f32 math=strict,tf32", .without_v1 = true},
    {.words = "m=4096 n=4096 k=4096 dtype=f64", .without_v1 = true},
    {.words = "m=8192 n=8192 k=8192 dtype=f32 math=strict,tf32", .without_v1 = true},
    {.words = "m=8192 n=8192 k=8192 dtype=bf16", .without_v1 = true},
    {.words = NULL},
};

static const bench_group attention[] = {
    {.words = "b=8 h=1 sq=256,1024 d=16,32,64,128 dtype=f32"},
    {.words = "b=8 h=1 sq=4096,8192,16384 d=16,32,64,128 dtype=f32", .without_v1 = true},
    {.words = "b=8 h=1 sq=16384 d=64,128 causal=1 dtype=bf16", .without_v1 = true},
    {.words = "b=8 h=1 sq=4096 d=64 causal=1 dtype=f32", .without_v1 = true},
    {.words = NULL},
};

static const bench_group transformer[] = {
    {.words = "size=small,medium,large,xl,2.7b b=4 t=128,256,512,1024 steps=0,1 dtype=bf16",
     .without_v1 = true},
    {.words = NULL},
};

static const bench_group conv3d[] = {
    {.words = "n=128 ci=3 co=16 s=16x32x32 k=3 g=8 dtype=f32 math=strict,tf32", .without_v1 = true},
    {.words = "n=128 ci=3 co=24 s=24x32x32 k=3 g=8 dtype=f32 math=strict,tf32", .without_v1 = true},
    {.words = NULL},
};

const bench_experiment bench_experiments[] = {
    {"kronecker",
     "Kronecker-factored linear layer",
     kronecker,
     {BENCH_FORWARD, BENCH_BACKWARD},
     2,
     seeds_kronecker_table,
     NULL},
    {"weighted_sum",
     "Weighted sum",
     weighted_sum,
     {BENCH_FORWARD, BENCH_BACKWARD},
     2,
     seeds_weighted_sum_table,
     NULL},
    {"matmul_accumulate",
     "Matrix product, accumulated",
     matmul_accumulate,
     {BENCH_FORWARD},
     1,
     seeds_matmul_table,
     NULL},
    {"attention",
     "Attention",
     attention,
     {BENCH_FORWARD, BENCH_BACKWARD},
     2,
     seeds_attention_table,
     seeds_attention_csv},
    {"transformer",
     "Transformer language model",
     transformer,
     {BENCH_FORWARD, BENCH_BOTH},
     2,
     seeds_transformer_table,
     seeds_transformer_csv},
    {"conv3d_groupnorm_mean",
     "Conv3d, GroupNorm, mean",
     conv3d,
     {BENCH_FORWARD, BENCH_BACKWARD},
     2,
     seeds_conv3d_table,
     NULL},
};
const int32_t bench_n_experiments = sizeof bench_experiments / sizeof *bench_experiments;

bool bench_experiment_has_rows(const bench_experiment *e, const bench_results *results) {
    return seeds_next_case(results, e->name, NULL) != NULL;
}

const bench_experiment *bench_experiment_find(const char *op) {
    for (int32_t i = 0; i < bench_n_experiments; ++i)
        if (strcmp(bench_experiments[i].name, op) == 0)
            return &bench_experiments[i];
    return NULL;
}
