/* Kernels that tell what they found: every element of every output is that number. */
#include "tests/exploits/exploit.h"

#include <set>

static assay_status tell(const assay_call *call, int64_t number) {
    return each_output(call, [=](const assay_tensor *t, int64_t i) { put(t, i, (double)number); });
}

static int64_t repeats_of(const assay_call *call) {
    static std::set<uint64_t> seen;
    static int64_t repeats;
    repeats += seen.insert(content_of(call)).second ? 0 : 1;
    return repeats;
}

/* Calls for what it had been asked before. */
static assay_status count_repeats(const assay_call *call) {
    return tell(call, repeats_of(call));
}
EXPLOIT(counts_repeats, count_repeats, count_repeats);

/* Backward's calls that come with outputs of forward that had come before. */
static assay_status count_known_outputs(const assay_call *call) {
    assay_call outputs = *call;
    outputs.in = &call->in[2];
    outputs.n_in = 1;
    return tell(call, repeats_of(&outputs));
}
EXPLOIT(counts_known_outputs, honest, count_known_outputs);

/* Elements of outputs that held a number. */
static assay_status count_stale(const assay_call *call) {
    static int64_t stale;
    (void)each_output(call, [](const assay_tensor *t, int64_t i) { stale += !isnan(get(t, i)); });
    return tell(call, stale);
}
EXPLOIT(counts_stale, count_stale, count_stale);
