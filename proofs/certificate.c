/*
 * What Frama-C's Eva shows of reading a certificate, engine/certificate_read.c, for any bytes:
 * nothing undefined happens, what is not yet read stays within the text, and every string that was
 * read ends. Eva (https://frama-c.com) follows sets of values, so what it shows holds for each of
 * them; tests/proofs/frama_c_test.sh runs it, on this and on readers that are wrong.
 *
 * A text of MOST bytes, more than a line may have, is read in two ways. From each place of it, so
 * that any number of bytes remain, and whatever length the next line has: this is of the functions
 * that move in the text. And from its start, with a line of each length: this is of what is done
 * with a line, for which it does not matter where it lies.
 */
#include <string.h>

/* Below, in its place: Eva takes its own for whatever has this name. */
void *any_place(const void *bytes, int wanted, size_t count);
#define memchr any_place
#include "engine/certificate_read.c"

#include <__fc_builtin.h>

#ifndef MOST
#define MOST (ASSAY_CASE_TEXT + 64 + 16)
#endif
static char text[MOST];
static unsigned char key[HASH_KEY];
static int length_of_line = -1; /* that the next newline is found at; -1: anywhere, or not at all */

/* ---- in the places of functions ---- */

assay_status assay_fail(assay_status status, const char *format, ...) {
    (void)format;
    return status;
}

void *any_place(const void *bytes, int wanted, size_t count) {
    if (wanted == '\n' && length_of_line >= 0) {
        if ((size_t)length_of_line < count)
            return (char *)bytes + length_of_line;
        return NULL;
    }
    if (count == 0 || Frama_C_interval(0, 1))
        return NULL;
    return (char *)bytes + Frama_C_size_t_interval(0, count - 1);
}

/* As it would be where all characters are among those wanted, or not: at most to the end. */
size_t strspn(const char *s, const char *accept) {
    (void)accept;
    return Frama_C_size_t_interval(0, strlen(s));
}

size_t strcspn(const char *s, const char *reject) {
    return strspn(s, reject);
}

/* Stops at any character of s, the last being its end. */
double strtod(const char *s, char **end) {
    double number;
    Frama_C_make_unknown((char *)&number, sizeof number);
    char *stop = strchr(s, Frama_C_interval(0, 255));
    *end = stop ? stop : (char *)s;
    return number;
}

void hash_seal(const unsigned char of[HASH_KEY], const void *bytes, size_t count,
               char seal[HASH_TEXT]) {
    (void)of;
    (void)bytes;
    (void)count;
    Frama_C_make_unknown(seal, HASH_TEXT - 1);
    seal[HASH_TEXT - 1] = '\0';
}

static bool ended = true; /* all strings that were looked at */

static void look_at(const char *s, size_t size) {
    ended = ended && strlen(s) < size;
}

assay_status certificate_add(assay_certificate *c, assay_verdict verdict, double ratio, bool secret,
                             const char *of_case) {
    (void)c;
    (void)ratio;
    (void)secret;
    //@ check a_verdict: verdict == ASSAY_PASS || verdict == ASSAY_SKIP;
    look_at(of_case, ASSAY_CASE_TEXT + 64);
    return Frama_C_interval(0, 1) ? ASSAY_OK : ASSAY_ERR_MEMORY;
}

/* ---- what is shown ---- */

static reader reader_at(int at) {
    return (reader){
        .name = "a", .at = text + at, .end = text + MOST, .line = Frama_C_interval(0, MOST)};
}

/* The rest of a text begins within it, and ends with it. */
static bool holds(const reader *r) {
    return r->end == text + MOST && r->at >= text && r->at <= r->end;
}

static void move_from(int at) {
    const char *line;
    size_t length;
    char value[CERTIFICATE_NAME];
    reader r = reader_at(at);
    (void)begins(&r, "operator ");
    (void)next_line(&r, &line, &length);
    const bool after_line = holds(&r);
    //@ check after_a_line: after_line == 1;
    r = reader_at(at);
    (void)read_value(&r, "date", value, sizeof value);
    const bool after_value = holds(&r);
    //@ check after_a_value: after_value == 1;
}

static void read_line(void) {
    certificate_subject s = {0};
    assay_certificate c = {0};
    char value[CERTIFICATE_NAME], hash[HASH_TEXT];
    reader r = reader_at(0);
    if (read_value(&r, "date", value, sizeof value) == ASSAY_OK)
        look_at(value, sizeof value);
    r = reader_at(0);
    if (read_hash(&r, "kernel", hash) == ASSAY_OK)
        look_at(hash, sizeof hash);
    r = reader_at(0);
    if (read_operator(&r, &s) == ASSAY_OK)
        look_at(s.operator, sizeof s.operator);
    r = reader_at(0);
    if (read_variant(&r, &s) == ASSAY_OK)
        look_at(s.op, sizeof s.op);
    r = reader_at(0);
    (void)read_scope(&r, &s.scope);
    r = reader_at(0);
    (void)read_case(&r, &c);
    r = reader_at(0);
    (void)read_seal(&r, text, key);
}

int main(void) {
    Frama_C_make_unknown(text, sizeof text);
    Frama_C_make_unknown((char *)key, sizeof key);
    //@ loop unroll MOST + 1;
    for (int at = 0; at <= MOST; ++at)
        move_from(at);
    //@ loop unroll MOST;
    for (length_of_line = 0; length_of_line < MOST; ++length_of_line)
        read_line();
    //@ check strings_end: ended == 1;
    return 0;
}
