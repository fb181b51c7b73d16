/* Accesses of kernels to memory that cannot be touched: a defect of the kernel in place of the
 * program's end. */
#ifndef ASSAY_SIM_EXEC_FAULT_H
#define ASSAY_SIM_EXEC_FAULT_H

#define EXEC_FAULT "stray access" /* the kind of the defect */

/* Around a launch: the program's own handlers of such signals are put back behind it. */
void exec_fault_begin(void);
void exec_fault_end(void);

#endif
