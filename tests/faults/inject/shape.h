/*
 * The shape of every wrapped function: words in, a word out, whatever the types. x86-64 and AArch64
 * pass integers and addresses so: the first few in registers, the rest on the stack, in order. A
 * wrapper hands on more words than most functions take, and these do not look at the rest.
 */
#ifndef ASSAY_TESTS_INJECT_SHAPE_H
#define ASSAY_TESTS_INJECT_SHAPE_H

#if !(defined(__x86_64__) || defined(__aarch64__)) || !defined(__linux__)
#error "it is not known how this system passes arguments"
#endif

typedef long word;

#define WORDS word a, word b, word c, word d, word e, word f, word g, word h
#define GIVEN a, b, c, d, e, f, g, h

/* For the functions of cuBLAS, which take up to eighteen. */
#define MANY_WORDS                                                                                 \
    WORDS, word i, word j, word k, word l, word m, word n, word o, word p, word q, word r, word s, \
        word t
#define MANY_GIVEN GIVEN, i, j, k, l, m, n, o, p, q, r, s, t

#endif
