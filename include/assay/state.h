/*
 * State files: the tensors of one run in plain HDF5, in NumPy's .npz or as safetensors, which other
 * programs read and write with a few lines. They prove nothing: golden files do (golden.h).
 *
 *     /in/<tensor>    inputs                        /cot/<output>   cotangents
 *     /out/<tensor>   outputs                       /grad/<input>   gradients
 *
 * A group that would be empty is left out. HDF5: datasets are contiguous and have the tensor's own
 * shape and type, little-endian: fp64, fp32 or int32; bf16 and fp16 are widened to fp32. The others
 * call a tensor "in/x" and have each type as it is; bf16 in .npz, which NumPy does not know, is
 * stored as ml_dtypes stores it, raw elements of two bytes ("|V2"). Reading takes fp32 for bf16 and
 * fp16 in all formats. The same tensors give the same bytes.
 */
#ifndef ASSAY_STATE_H
#define ASSAY_STATE_H

#include "assay/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The file's first bytes decide its format. "FILE:3" is the third finding of a file that
 * `assay fuzz --findings` wrote (golden/findings.h).
 *
 * Puts every /in and /cot tensor of the file in place of the problem's own, and counts them in
 * `taken`; /out and /grad are not looked at. ASSAY_ERR_FILE, with the problem's data then in part
 * replaced, for anything else in the file, another shape or type, a value that the tensor's dtype
 * does not have, an index out of range, and a file without any such tensor. HDF5 must be in the
 * format of 1.10, which has a checksum over everything but the data.
 */
assay_status assay_state_read(const char *path, assay_problem *p, int32_t *taken) ASSAY_MUST_CHECK;

/* Puts /out and /grad in place of `got`, which assay_results_init() made for the problem. All of
 * its tensors must be there; those of /in and /cot that are must equal the problem's. */
assay_status assay_state_read_results(const char *path, const assay_problem *p,
                                      assay_results *got) ASSAY_MUST_CHECK;

/* Whether a file could be written there; changes nothing. Called before a long run. */
assay_status assay_state_try(const char *path) ASSAY_MUST_CHECK;

/* Writes a problem, and the results of a run where `got` is not NULL, in the format that the path
 * ends with: .npz, .safetensors, otherwise HDF5. Replaces the file by renaming, when all of it is
 * written. */
assay_status assay_state_write(const char *path, const assay_problem *p,
                               const assay_results *got) ASSAY_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
