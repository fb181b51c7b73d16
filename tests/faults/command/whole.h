/* Whether a file is whole, by what its format demands of its end. */
#ifndef ASSAY_TESTS_FAULTS_WHOLE_H
#define ASSAY_TESTS_FAULTS_WHOLE_H

#include "tests/faults/command/sandbox.h"

bool is_report(const char *file);

/* Of a report or a certificate, by the ending of its name: .json, .csv, .xml, .md, .cert. */
bool report_is_whole(const char *file, const file_bytes *bytes);

#endif
