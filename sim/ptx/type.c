#include "sim/ptx/type.h"

#include <string.h>

static const ptx_type types[] = {
    {"b8", CLASS_BITS, 1, "uint8_t"},         {"b16", CLASS_BITS, 2, "uint16_t"},
    {"b32", CLASS_BITS, 4, "uint32_t"},       {"b64", CLASS_BITS, 8, "uint64_t"},
    {"b128", CLASS_BITS, 16, "ptx_u128"},     {"u8", CLASS_UNSIGNED, 1, "uint8_t"},
    {"u16", CLASS_UNSIGNED, 2, "uint16_t"},   {"u32", CLASS_UNSIGNED, 4, "uint32_t"},
    {"u64", CLASS_UNSIGNED, 8, "uint64_t"},   {"s8", CLASS_SIGNED, 1, "int8_t"},
    {"s16", CLASS_SIGNED, 2, "int16_t"},      {"s32", CLASS_SIGNED, 4, "int32_t"},
    {"s64", CLASS_SIGNED, 8, "int64_t"},      {"f32", CLASS_FLOAT, 4, "float"},
    {"f64", CLASS_FLOAT, 8, "double"},        {"f16", CLASS_SMALL, 2, "uint16_t"},
    {"bf16", CLASS_SMALL, 2, "uint16_t"},     {"f16x2", CLASS_SMALL, 4, "uint32_t"},
    {"bf16x2", CLASS_SMALL, 4, "uint32_t"},   {"tf32", CLASS_SMALL, 4, "uint32_t"},
    {"e4m3x2", CLASS_SMALL, 2, "uint16_t"},   {"e5m2x2", CLASS_SMALL, 2, "uint16_t"},
    {"u16x2", CLASS_UNSIGNED, 4, "uint32_t"}, {"s16x2", CLASS_SIGNED, 4, "uint32_t"},
    {"pred", CLASS_PRED, 0, "bool"},
};

const ptx_type *type_find(const char *name, size_t n) {
    for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i)
        if (strlen(types[i].name) == n && memcmp(types[i].name, name, n) == 0)
            return &types[i];
    return NULL;
}

const ptx_type *type_named(const char *name) {
    return type_find(name, strlen(name));
}

const ptx_type *type_bits(unsigned bytes) {
    for (size_t i = 0; i < 5; ++i)
        if (types[i].bytes == bytes)
            return &types[i];
    return NULL;
}
