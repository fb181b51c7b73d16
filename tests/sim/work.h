/* The work of kernels on the simulated device: counted, so that the host's load changes nothing. */
#ifndef ASSAY_TESTS_SIM_WORK_H
#define ASSAY_TESTS_SIM_WORK_H

void sim_work_begin(void);

/* Of all launches since: about the nanoseconds that they take where kernels are not recorded. */
double sim_work_end(void);

#endif
