/*
 * The parser of case texts: a case that it takes is written and read back as itself, one that it
 * refuses gets one line, and words with lists and ranges expand to cases that it takes.
 */
#include "assay/op.h"
#include "fuzz/fuzz.h"

#include <stdbool.h>
#include <string.h>

enum { MAX_TEXT = 4096, MAX_WORDS = 64, FEW = 1000, REFUSED = 1000000 };

/* Bytes of text that end somewhere. */
typedef struct input {
    char text[MAX_TEXT];
    const char *word[MAX_WORDS]; /* behind the first, which is the operator's name */
    int32_t n_words;
} input;

static bool same_params(const assay_params *a, const assay_params *b) {
    if (a->count != b->count || a->dtype != b->dtype || a->math != b->math)
        return false;
    for (int32_t i = 0; i < a->count; ++i) {
        const assay_param *x = &a->item[i], *y = &b->item[i];
        if (strcmp(x->name, y->name) != 0 || x->count != y->count ||
            memcmp(x->value, y->value, sizeof x->value) != 0 || !(x->real == y->real))
            return false;
    }
    return true;
}

static bool same_case(const assay_case *a, const assay_case *b) {
    return a->op == b->op && a->fill == b->fill && a->exponent == b->exponent &&
           a->operand == b->operand && a->pad == b->pad && a->misalign == b->misalign &&
           a->schedule == b->schedule && a->seed == b->seed && same_params(&a->params, &b->params);
}

/* Its text reads back as it, and is written the same again. */
static void expect_round_trip(const assay_case *c) {
    char text[ASSAY_CASE_TEXT], again[ASSAY_CASE_TEXT];
    assay_case read;
    assay_case_format(c, text);
    FUZZ_EXPECT(strlen(text) < ASSAY_CASE_TEXT);
    FUZZ_EXPECT(assay_case_parse(text, &read) == ASSAY_OK);
    FUZZ_EXPECT(same_case(c, &read));
    FUZZ_EXPECT(strcmp(assay_case_format(&read, again), text) == 0);
}

/* Every integer lies where its key says that it may. */
static void expect_ranges(const assay_case *c) {
    FUZZ_EXPECT(c->exponent >= -1100 && c->exponent <= 1100);
    FUZZ_EXPECT(c->operand >= 0 && c->operand <= 63 && (c->exponent != 0 || c->operand == 0));
    FUZZ_EXPECT(c->pad >= 0 && c->pad <= 1024 && c->misalign >= 0 && c->misalign <= 8191);
    for (int32_t i = 0; i < c->op->n_keys; ++i) {
        const assay_key *key = &c->op->keys[i];
        const assay_param *param = &c->params.item[i];
        FUZZ_EXPECT(param->count >= 0 && param->count <= ASSAY_MAX_LIST);
        if (key->kind == ASSAY_KEY_INT || key->kind == ASSAY_KEY_LIST)
            for (int32_t v = 0; v < param->count; ++v)
                FUZZ_EXPECT((double)param->value[v] >= key->low &&
                            (double)param->value[v] <= key->high);
        if (key->kind == ASSAY_KEY_REAL)
            FUZZ_EXPECT(param->real >= key->low && param->real <= key->high);
    }
}

/* A legal case has a signature, or a line that says what is too large. */
static void expect_signature(const assay_case *c) {
    assay_signature sig;
    if (c->op->signature(&c->params, &sig) != ASSAY_OK) {
        fuzz_expect_line();
        return;
    }
    FUZZ_EXPECT(sig.n_in > 0 && sig.n_out > 0);
    for (int32_t i = 0; i < sig.n_in; ++i)
        FUZZ_EXPECT(assay_spec_count(&sig.in[i]) >= 0);
    for (int32_t i = 0; i < sig.n_out; ++i)
        FUZZ_EXPECT(assay_spec_count(&sig.out[i]) >= 0);
    assay_signature_clear(&sig);
}

/* ---- expansion ---- */

static double range_count(const char *text, size_t length) {
    char digits[64];
    double first = 0, last = 0, step = 1;
    snprintf(digits, sizeof digits, "%.*s", (int)(length < 63 ? length : 63), text);
    if (sscanf(digits, "%lf:%lf:%lf", &first, &last, &step) != 3 || !(step >= 1))
        return 1;
    return last > first ? (last - first) / step + 1 : 1;
}

/* About how many values a word gives its key. */
static double word_count(const char *word) {
    double count = 0;
    for (const char *part = word;; ++part) {
        const size_t length = strcspn(part, ",");
        const char *value = memchr(part, '=', length);
        value = value != NULL ? value + 1 : part;
        count += range_count(value, length - (size_t)(value - part));
        part += length;
        if (*part == '\0')
            return count;
    }
}

/* Few cases, or so many that they are refused: numbers between would only take time. */
static bool is_quick(const input *in) {
    double count = 1;
    for (int32_t i = 0; i < in->n_words; ++i)
        count *= word_count(in->word[i]);
    return count <= FEW || count > 4.0 * REFUSED;
}

typedef struct visits {
    const assay_op *op;
    int32_t count;
} visits;

static assay_status visit(const assay_case *c, void *context) {
    visits *v = context;
    FUZZ_EXPECT(c->op == v->op);
    if (++v->count <= 16)
        expect_round_trip(c);
    return ASSAY_OK;
}

/* Words that are a case without lists expand to it alone. */
static void expand(const input *in, const assay_op *op, bool parsed) {
    visits v = {.op = op};
    if (!is_quick(in))
        return;
    const assay_status status = assay_case_expand(op, in->word, in->n_words, visit, &v);
    if (status != ASSAY_OK) {
        fuzz_expect_line();
        FUZZ_EXPECT(v.count == 0);
        FUZZ_EXPECT(!parsed);
        return;
    }
    FUZZ_EXPECT(v.count > 0);
    FUZZ_EXPECT(!parsed || v.count == 1);
}

static bool split(input *in) {
    char *rest = NULL;
    in->n_words = -1; /* the operator's name is none */
    for (char *word = strtok_r(in->text, " \t", &rest); word != NULL;
         word = strtok_r(NULL, " \t", &rest)) {
        if (in->n_words >= MAX_WORDS)
            return false;
        if (in->n_words >= 0)
            in->word[in->n_words] = word;
        ++in->n_words;
    }
    return in->n_words >= 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input in;
    assay_case c;
    if (size >= sizeof in.text)
        return 0;
    memcpy(in.text, data, size);
    in.text[size] = '\0';
    const bool parsed = assay_case_parse(in.text, &c) == ASSAY_OK;
    if (parsed) {
        expect_round_trip(&c);
        expect_ranges(&c);
        expect_signature(&c);
    } else {
        fuzz_expect_line();
    }
    const char *start = in.text + strspn(in.text, " \t");
    const assay_op *op = assay_op_find(start, strcspn(start, " \t"));
    if (op != NULL && split(&in))
        expand(&in, op, parsed);
    return 0;
}
