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
#include "sim/trace.h"

/* Notes those of the kernel file with this section. `image`: the object's file; `base`: by how much
 * addresses differ from those in it; `program`: it holds much else, and only kernels that are
 * static, as a kernel file's are, count. */
assay_status sim_templates_read(const sim_section *section, const char *image, size_t bytes,
                                uintptr_t base, bool program) ASSAY_MUST_CHECK;

/* Those of the launch's file, which sim_templates_fill() has made as undefined as a block finds
 * them: the one that holds an address, or NULL; all. */
const sim_range *sim_templates_of(const volatile void *address);
void sim_templates_visit(void (*visit)(sim_range variable));

/* Bytes of the section that are no variable's, between two or before the first. */
void sim_templates_gaps(const sim_section *section, const char *image, size_t bytes, uintptr_t base,
                        void (*visit)(void *memory, size_t bytes, bool on));

/* Makes those of the section's file as undefined as a new block finds them. */
void sim_templates_fill(const sim_section *section);

#endif
