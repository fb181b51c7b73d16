/* Writes the certificates of a run of checks. */
#ifndef ASSAY_CLI_CERTIFY_H
#define ASSAY_CLI_CERTIFY_H

#include "cli/cases.h"
#include "cli/report.h"
#include "engine/certificate.h"

/* How many cases of each dtype of an operator are drawn from a seed that is made only then, beside
 * the set's. */
enum { CERTIFY_SECRETS = 4 };

/* The subject of this run: its op and variant are those of any variant in it, all else is common to
 * them all. To be taken before the first case. */
assay_status certify_begin(const cli_cases *cases, const assay_device *isolated,
                           certificate_subject *subject) ASSAY_MUST_CHECK;

/* After the last case: writes a certificate for each variant that passed all of its cases, takes
 * away that of each that did not, and says so on `to`. Report i of `results` is that of job i.
 * `refused`: a variant that passed some cases got no certificate. */
assay_status certify_end(const assay_cli_args *args, const cli_cases *cases,
                         const cli_results *results, const assay_device *isolated,
                         const certificate_subject *subject, FILE *to,
                         bool *refused) ASSAY_MUST_CHECK;

#endif
