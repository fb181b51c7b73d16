/* Which share of its cases a certificate's variant ran: the rest it declined, by shape. */
#ifndef ASSAY_ENGINE_SHARE_H
#define ASSAY_ENGINE_SHARE_H

#include "engine/certificate.h"

/* Of one dtype. */
typedef struct certificate_share {
    int64_t set, ran_set, secret, ran_secret;
} certificate_share;

/* By dtype; a case whose text names no dtype is not counted. */
void share_count(const assay_certificate *c, certificate_share share[ASSAY_DTYPES]);

/* "forward+backward f32 set 24/24 secret 4/4" lines, one for each dtype that has cases, each with
 * `before` in front. */
void share_print(FILE *to, const assay_certificate *c, const char *before);

/*
 * Whether the variant ran enough to be judged: at least the operator's share (assay_op.least_share)
 * of the set's cases and of the secret ones, of each dtype of which it ran any. Otherwise `why`
 * names the missing share. A dtype that it never runs is one that it does not have: the certificate
 * says so.
 */
bool share_suffices(const assay_certificate *c, char why[CERTIFICATE_WHY]);

#endif
