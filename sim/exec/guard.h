/*
 * Watches pinned and managed memory while work that the program has not waited for accesses it. If
 * the program's own code touches such memory, a report says so. Only pages that such work accesses
 * as a whole, as far as they are the allocation's, are watched. A call of the system that is given
 * such memory fails with EFAULT.
 */
#ifndef ASSAY_SIM_EXEC_GUARD_H
#define ASSAY_SIM_EXEC_GUARD_H

/* The program's code runs from now on; the stand-ins' runs. */
void exec_guard_close(void);
void exec_guard_open(void);

#endif
