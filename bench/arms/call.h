/* One call of a stage on one set, as a variant gets it. */
#ifndef ASSAY_BENCH_ARMS_CALL_H
#define ASSAY_BENCH_ARMS_CALL_H

#include "bench/arms/work.h"

/* The tensors that a call of the stage reads and writes, and the results that the parent gets. */
set_groups call_reads(const work *w);
set_groups call_writes(const work *w);
set_groups call_leaves(const work *w);

/* Whether the variant does it; the workspace that it wants for each of its functions. */
assay_status call_supported(work *w) ASSAY_MUST_CHECK;

/* Queued: the forward that a call of this stage comes after, if it does; the call itself. */
bool call_has_prelude(const work *w);
assay_status call_prelude(work *w, const set *s) ASSAY_MUST_CHECK;
assay_status call_queue(work *w, const set *s) ASSAY_MUST_CHECK;

#endif
