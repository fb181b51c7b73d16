#include "engine/share.h"

#include "assay/op.h"

#include <inttypes.h>
#include <string.h>

enum { USUAL_SHARE = 75 };

static bool dtype_of(const char *text, assay_dtype *dtype) {
    const char *word = strstr(text, " dtype=");
    if (!word)
        return false;
    word += strlen(" dtype=");
    return assay_dtype_parse(word, strcspn(word, " "), dtype);
}

void share_count(const assay_certificate *c, certificate_share share[ASSAY_DTYPES]) {
    memset(share, 0, ASSAY_DTYPES * sizeof *share);
    for (int64_t i = 0; i < c->n_cases; ++i) {
        const certificate_case *one = &c->cases[i];
        assay_dtype dtype;
        if (!dtype_of(one->text, &dtype))
            continue;
        certificate_share *s = &share[dtype];
        const bool ran = one->verdict == ASSAY_PASS;
        s->set += !one->secret;
        s->secret += one->secret;
        s->ran_set += !one->secret && ran;
        s->ran_secret += one->secret && ran;
    }
}

static const assay_op *op_of(const assay_certificate *c) {
    return assay_op_find(c->subject.op, strlen(c->subject.op));
}

static const char *stages_of(const assay_certificate *c) {
    const assay_op *op = op_of(c);
    return op && op->backward ? "forward+backward" : "forward";
}

void share_print(FILE *to, const assay_certificate *c, const char *before) {
    certificate_share share[ASSAY_DTYPES];
    share_count(c, share);
    for (int d = 0; d < ASSAY_DTYPES; ++d)
        if (share[d].set + share[d].secret > 0)
            fprintf(to, "%s%s %s set %" PRId64 "/%" PRId64 " secret %" PRId64 "/%" PRId64 "\n",
                    before, stages_of(c), assay_dtype_name((assay_dtype)d), share[d].ran_set,
                    share[d].set, share[d].ran_secret, share[d].secret);
}

static bool enough(int64_t ran, int64_t all, int32_t percent) {
    return 100 * ran >= percent * all;
}

bool share_suffices(const assay_certificate *c, char why[CERTIFICATE_WHY]) {
    certificate_share share[ASSAY_DTYPES];
    const assay_op *op = op_of(c);
    const int32_t percent = op && op->least_share > 0 ? op->least_share : USUAL_SHARE;
    bool any = false;
    share_count(c, share);
    for (int d = 0; d < ASSAY_DTYPES; ++d) {
        const certificate_share *s = &share[d];
        const bool set = enough(s->ran_set, s->set, percent);
        if (s->ran_set + s->ran_secret == 0)
            continue;
        any = true;
        if (set && enough(s->ran_secret, s->secret, percent))
            continue;
        snprintf(why, CERTIFICATE_WHY,
                 "it ran %" PRId64 " of %" PRId64 " %s cases in %s, and needs %d %%",
                 set ? s->ran_secret : s->ran_set, set ? s->secret : s->set,
                 set ? "secret" : "of the set's", assay_dtype_name((assay_dtype)d), percent);
        return false;
    }
    if (!any)
        snprintf(why, CERTIFICATE_WHY, "no case of it passed");
    return any;
}
