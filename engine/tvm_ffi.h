/* Calls by tvm-ffi's C ABI. */
#ifndef ASSAY_ENGINE_TVM_FFI_H
#define ASSAY_ENGINE_TVM_FFI_H

#include "engine/foreign_value.h"

/* A function of `object`, a loaded file. `all`: every input and then every output of the call,
 * instead of the launcher's arguments. ASSAY_ERR_KERNEL, with its error's words, where the function
 * says so. */
assay_status tvm_ffi_call(void *object, void *function, const binding_launcher *l, bool all,
                          const foreign_call *c, bool cuda) ASSAY_MUST_CHECK;

#endif
