/* What a forked child of the test process exits with when a check failed in it. */
#ifndef ASSAY_TEST_CHILD_H
#define ASSAY_TEST_CHILD_H

enum { ASSAY_TEST_CHILD_FAILED = 113 };

#endif
