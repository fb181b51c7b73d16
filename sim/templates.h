/*
 * Shared memory of templates. g++ 12 leaves a static of a function template out of the section that
 * its declaration names, so that a `__shared__` variable there would neither be filled before a
 * block nor be found. The object's table of symbols tells where such variables are.
 *
 * It cannot tell a `__shared__` variable from another static: a kernel file's function templates
 * have no statics but shared ones, unless these need a constructor.
 */
#ifndef ASSAY_SIM_TEMPLATES_H
#define ASSAY_SIM_TEMPLATES_H

#include "assay/status.h"
#include "sim/runtime.h"

/* Notes those of the kernel file with this section. `image`: the object's file; `base`: by how much
 * addresses differ from those in it; `program`: it holds much else, and only kernels that are
 * static, as a kernel file's are, count. */
assay_status sim_templates_read(const sim_section *section, const char *image, size_t bytes,
                                uintptr_t base, bool program) ASSAY_MUST_CHECK;

/* Makes those of the section's file as undefined as a new block finds them. */
void sim_templates_fill(const sim_section *section);

#endif
