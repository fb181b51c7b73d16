/* The process that runs variants for the check engine, as a program or as a library of another. */
#ifndef ASSAY_ENGINE_GUEST_MAIN_H
#define ASSAY_ENGINE_GUEST_MAIN_H

#include <stdbool.h>

/* Where the process is an interpreter: what that must read, a list that NULL ends. */
int guest_main(int argc, char **argv, const char *const *readable);

#endif
