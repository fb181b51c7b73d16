/* The subject of a certificate, as it is now. */
#include "engine/certificate.h"
#include "engine/isolate.h"
#include "engine/operator_library.h"

#include <ctype.h>
#include <dlfcn.h>
#include <string.h>

/* The guest's program has been hashed. */
static assay_status hash_kernel(const assay_device *isolated, const assay_variant *variant,
                                certificate_subject *s) {
    Dl_info info;
    const bool in_file = assay_isolated_kernel(isolated, variant) != NULL;
    if (in_file || isolated->simulated) {
        memcpy(s->kernel, in_file ? assay_isolated_kernel_hash(isolated) : s->guest, HASH_TEXT);
        return ASSAY_OK;
    }
    if (dladdr(variant, &info) == 0)
        return assay_fail(ASSAY_ERR_FILE, "%s: the file that holds %s/%s is not known",
                          isolated->name, variant->op, variant->name);
    return hash_file(info.dli_fname, s->kernel); /* the device's module: the guest loads the same */
}

/* Once: the file of a program that runs cannot be written. */
static assay_status hash_judge(char hash[HASH_TEXT]) {
    static char of_this_program[HASH_TEXT];
    assay_status status = ASSAY_OK;
    if (of_this_program[0] == '\0')
        status = hash_file("/proc/self/exe", of_this_program);
    memcpy(hash, of_this_program, HASH_TEXT);
    return status;
}

void certificate_name_operator(certificate_subject *subject) {
    subject->operator[0] = subject->operator_file[0] = '\0';
    const operator_library *l = operator_library_of(subject->op);
    if (!l)
        return;
    const char *slash = strrchr(l->path, '/');
    memcpy(subject->operator, l->hash, sizeof subject->operator);
    snprintf(subject->operator_file, sizeof subject->operator_file, "%.200s",
             slash ? slash + 1 : l->path);
    for (char *c = subject->operator_file; *c != '\0'; ++c)
        if (iscntrl((unsigned char)*c))
            *c = '?';
}

assay_status certificate_subject_init(certificate_subject *subject, const assay_device *isolated,
                                      const assay_variant *variant) {
    char text[ASSAY_DEVICE_TEXT];
    *subject = (certificate_subject){0};
    snprintf(subject->op, sizeof subject->op, "%s", variant->op);
    snprintf(subject->variant, sizeof subject->variant, "%s", variant->name);
    snprintf(subject->device, sizeof subject->device, "%s", isolated->name);
    assay_status status = isolated->probe(text);
    if (status == ASSAY_OK) {
        snprintf(subject->device_text, sizeof subject->device_text, "%s", text);
        status = hash_file(assay_isolated_program(isolated, variant), subject->guest);
    }
    if (status == ASSAY_OK)
        status = hash_kernel(isolated, variant, subject);
    if (status == ASSAY_OK)
        status = hash_judge(subject->judge);
    certificate_name_operator(subject);
    return status;
}
