/*
 * fuzz/corpus/<op>.txt: the cases that found something, one a line, in canonical form; blank lines
 * and lines that begin with # say why. The suite judges them for ever.
 */
#ifndef ASSAY_FUZZ_SEARCH_CORPUS_H
#define ASSAY_FUZZ_SEARCH_CORPUS_H

#include "assay/case.h"
#include "assay/op.h"

/* Hands over each case of the folder's file of that operator. There may be no file. ASSAY_ERR_FILE
 * names the line that is no case of the operator's. */
assay_status fuzz_corpus_visit(const char *folder, const assay_op *op, assay_case_visitor visit,
                               void *context) ASSAY_MUST_CHECK;

/* Adds a case that is not in the file yet, with a line above it that names its failure. */
assay_status fuzz_corpus_add(const char *folder, const assay_case *c,
                             const char *why) ASSAY_MUST_CHECK;

#endif
