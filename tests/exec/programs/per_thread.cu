/* The names of a program that is compiled for a default stream of each thread (_ptsz, _ptds). */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include "driver_copies.cu"
