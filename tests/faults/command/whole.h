/* Whether a file is whole, by what its format demands of its end. */
#ifndef ASSAY_TESTS_FAULTS_WHOLE_H
#define ASSAY_TESTS_FAULTS_WHOLE_H

#include "tests/faults/command/sandbox.h"

bool is_report(const char *file);

/* Of a report, a certificate, a campaign or findings, by the ending of its name: .json, .csv, .xml,
 * .md, .cert, .state, findings.h5. */
bool report_is_whole(const char *file, const file_bytes *bytes);

/* The state of assay fuzz. Equal: but for how long the campaign took, and its seal. */
bool is_campaign(const char *file);
bool campaigns_equal(const file_bytes *a, const file_bytes *b);

#endif
