/* libassay_python.so: the work of the kernels' process, for Python's interpreter, which loads it
 * (python/guest/guest.py). */
#include "engine/python.h"
#include "engine/guest/guest_main.h"

int assay_python_guest(int argc, char **argv, python_function function,
                       const char *const *readable);

int assay_python_guest(int argc, char **argv, python_function function,
                       const char *const *readable) {
    python_set(function);
    return guest_main(argc, argv, readable);
}
