/*
 * Where the files lie that assay's programs need: each other, the GPU's modules, the peers, the
 * golden files, the sources. A program looks upwards from its own file. The first folder that holds
 * PLACE_LIST is the root of a build tree. CMake writes that list, which says where each file lies.
 * The first folder that holds libexec/assay is the prefix of an installed tree, in which each file
 * has a fixed place, so that the prefix can be moved as a whole.
 *
 * $ASSAY_TREE names such a folder instead: for a program of your own that is linked with the
 * library, and for tests.
 */
#ifndef ASSAY_CORE_PLACE_H
#define ASSAY_CORE_PLACE_H

#include "assay/status.h"

#include <limits.h>

#define PLACE_LIST "assay-places.txt"

/*
 * The path of `name`: a program ("assay_guest"), a module ("libassay_cuda.so"), "peers", "golden",
 * "kernels", where the built-in ones' sources are; "operator", an example of one; "include",
 * "include/assay/kernel" and "include/assay/operator", the folders of headers that kernel files and
 * operators are compiled with; or, in a build tree only, "source" and "build". Whether anything
 * lies there is not checked. ASSAY_ERR_FILE: no tree was found, or it has no such place.
 */
assay_status assay_place(const char *name, char path[PATH_MAX]) ASSAY_MUST_CHECK;

/* The tree's root, which $ASSAY_TREE may name to programs that cannot look upwards, and the path of
 * its list, "" in an installed tree. */
assay_status assay_place_tree(char root[PATH_MAX], char list[PATH_MAX]) ASSAY_MUST_CHECK;

#endif
