/*
 * The record of a passed check: the code that was judged, the program that judged it, the cases,
 * and the worst ratio of each. docs/certificates.md says what a certificate proves and what it does
 * not prove.
 *
 * The text, one line each, in this order, every value to the end of its line:
 *
 *     assay-certificate 2
 *     variant OP/NAME
 *     device NAME
 *     device_text ...            the device and its driver, in the device's own words
 *     kernel HASH                SHA-256 of the file that holds the variant's code; of a kernel
 *                                file with libraries of its own, kernel_file.h
 *     guest HASH                 of the program that ran it
 *     judge HASH                 of the program that judged it
 *     operator HASH FILE         only of an operator that is not built in: its shared object
 *     scope forward packed       only where less is proven: one of the words, or both
 *     version 0.1.0
 *     date 2026-01-31T12:00:00Z
 *     set ci
 *     sandbox user pid ...       the walls around the process that ran it (sandbox.h), or none
 *     case pass RATIO set|secret CASE      one line a case; `skip - ...`: the variant declined it
 *     share STAGES DTYPE set 24/24 secret 4/4     the cases that it ran, of those there were
 *     seal HASH                  HMAC of all bytes before this line, by the user's key
 */
#ifndef ASSAY_ENGINE_CERTIFICATE_H
#define ASSAY_ENGINE_CERTIFICATE_H

#include "assay/device.h"
#include "assay/verdict.h"
#include "engine/hash.h"
#include "engine/sandbox/sandbox.h"
#include "engine/scope.h"

#include <stdio.h>

/* The first line, and how those of its shares begin. */
#define CERTIFICATE_FIRST_LINE "assay-certificate 2\n"
#define CERTIFICATE_SHARE      "share "

enum { CERTIFICATE_NAME = 64, CERTIFICATE_TEXT = 256, CERTIFICATE_WHY = 320 };

/* The code that was judged, its device, and the programs that ran and judged it. */
typedef struct certificate_subject {
    char op[CERTIFICATE_NAME], variant[CERTIFICATE_NAME];
    char device[CERTIFICATE_NAME], device_text[CERTIFICATE_TEXT];
    char kernel[HASH_TEXT], guest[HASH_TEXT], judge[HASH_TEXT];
    char operator[HASH_TEXT];             /* "": it is built in */
    char operator_file[CERTIFICATE_TEXT]; /* of which it is the hash, without folders */
    check_scope scope;                    /* of the verdicts */
} certificate_subject;

typedef struct certificate_case {
    assay_verdict verdict; /* pass or skip */
    double ratio;          /* the worst of its tensors; 0 for a skip */
    bool secret;           /* drawn when it was judged, from a seed that was made only then */
    char *text;
} certificate_case;

typedef struct assay_certificate {
    certificate_subject subject;
    char version[CERTIFICATE_NAME], date[CERTIFICATE_NAME], set[CERTIFICATE_NAME];
    char sandbox[SANDBOX_TEXT];
    certificate_case *cases;
    int64_t n_cases, room;
} assay_certificate;

/* The subject as it is now, all of it: hashes the files. `isolated` is the device that runs the
 * variant. */
assay_status certificate_subject_init(certificate_subject *subject, const assay_device *isolated,
                                      const assay_variant *variant) ASSAY_MUST_CHECK;

/* Fills in the fields about the operator's own library, from the subject's op. */
void certificate_name_operator(certificate_subject *subject);

assay_status certificate_add(assay_certificate *c, assay_verdict verdict, double ratio, bool secret,
                             const char *text) ASSAY_MUST_CHECK;
void certificate_clear(assay_certificate *c);

/* The sealed text, for free(). */
assay_status certificate_format(const assay_certificate *c, const unsigned char key[HASH_KEY],
                                char **text, size_t *size) ASSAY_MUST_CHECK;

/* Reads it back. ASSAY_ERR_FILE, with `name` and the line: it is damaged, or sealed by another
 * key. */
assay_status certificate_parse(assay_certificate *c, const char *name, const char *text,
                               size_t size, const unsigned char key[HASH_KEY]) ASSAY_MUST_CHECK;

/* Whether the certificate still holds for the present subject and for the set's cases of today;
 * otherwise `why` names the change. An error only when memory runs out. */
assay_status certificate_holds(const assay_certificate *c, const certificate_subject *now,
                               bool *holds, char why[CERTIFICATE_WHY]) ASSAY_MUST_CHECK;

/* Whether all walls stood that a sandbox must have; otherwise `why` names the missing ones. */
bool certificate_sandboxed(const assay_certificate *c, char why[CERTIFICATE_WHY]);

#endif
