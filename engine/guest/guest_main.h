/* The process that runs variants for the check engine, as a program or as a library of another. */
#ifndef ASSAY_ENGINE_GUEST_MAIN_H
#define ASSAY_ENGINE_GUEST_MAIN_H

#include <stdbool.h>

/* If the process is an interpreter: the files that it must read, then NULL. */
int guest_main(int argc, char **argv, const char *const *readable);

#endif
