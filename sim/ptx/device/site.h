/* A place in the source. */
#ifndef ASSAY_SIM_PTX_DEVICE_SITE_H
#define ASSAY_SIM_PTX_DEVICE_SITE_H

#include <stdint.h>

typedef struct sim_site {
    const char *file;
    int32_t line;
} sim_site;

#endif
