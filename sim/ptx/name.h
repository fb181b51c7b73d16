/* The name of a kernel in its source. */
#ifndef ASSAY_SIM_PTX_NAME_H
#define ASSAY_SIM_PTX_NAME_H

/* A function's own name within its mangled one: "add" in "_ZN3foo3addIfEEvPT_". Returns its length;
 * *name is `mangled` where that is no mangled name. */
int ptx_own_name(const char *mangled, const char **name);

#endif
