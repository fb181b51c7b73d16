/* What linked.cu and linked_more.cu share; each has a copy of the template's function. */
#include "check.h"

enum { N = 8 };

template <int more> __device__ __noinline__ int either(int x) {
    return x + more;
}

void prepare();
