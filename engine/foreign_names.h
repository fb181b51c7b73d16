/* Whether a binding's arguments are an operator's at all: a mistake of the binding, whichever case
 * is judged. */
#ifndef ASSAY_ENGINE_FOREIGN_NAMES_H
#define ASSAY_ENGINE_FOREIGN_NAMES_H

#include "assay/op.h"
#include "engine/binding.h"

/* ASSAY_ERR_USAGE, in a line that begins with `file`: an argument that no case of the set smoke
 * has. An operator without such cases has everything. */
assay_status foreign_check_names(const char *file, const assay_op *op,
                                 const binding *b) ASSAY_MUST_CHECK;

#endif
