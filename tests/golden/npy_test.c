/* Headers of NumPy's arrays, as NumPy and others write them, and none that is damaged. */
#include "golden/npy.h"
#include "tests/shim/assay_test.h"

#include <string.h>

enum { ROOM = 512, DATA = 5 };

/* A file of that header in version 1, with some bytes behind it. */
static size_t put(unsigned char bytes[ROOM], const char *header) {
    const size_t length = strlen(header);
    memcpy(bytes, "\x93NUMPY\1\0", 8);
    bytes[8] = (unsigned char)(length & 0xff);
    bytes[9] = (unsigned char)(length >> 8);
    memcpy(bytes + 10, header, length);
    memset(bytes + 10 + length, 7, DATA);
    return 10 + length + DATA;
}

static const char *parse(const char *header, char type[NPY_TYPE], packed_tensor *t) {
    static unsigned char bytes[ROOM];
    return npy_parse(bytes, put(bytes, header), type, t);
}

#define MANY    "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1" /* more than ASSAY_MAX_RANK */
#define DAMAGED "its header cannot be read"

ASSAY_TEST(npy, a_header_is_read_or_gets_a_line, "unit golden") {
    static const struct {
        const char *header, *wrong; /* NULL: it is right, */
        int32_t rank;               /* of that rank, */
        int known;                  /* and that type, or -1 */
    } given[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 5), }", NULL, 2, ASSAY_F32},
        {" {\"shape\":(),\"descr\":\"<f8\",\"fortran_order\":False}  \n", NULL, 0, ASSAY_F64},
        {"{'descr':'<V2','fortran_order':False,'shape':(7,)}", NULL, 1, ASSAY_BF16},
        {"{'descr':'|V2','fortran_order':True,'shape':( 7 , )}", NULL, 1, ASSAY_BF16},
        {"{'descr':'<f4','fortran_order':False,'shape':(3)}", NULL, 1, ASSAY_F32},
        {"{'descr':'>f4','fortran_order':False,'shape':(" MANY ")}", NULL, ASSAY_MAX_RANK + 1, -1},
        {"{'descr':'<f4','fortran_order':True,'shape':(3,5)}", "in Fortran's order", 2, ASSAY_F32},
        {"{'descr':[('a','<f4')],'fortran_order':False,'shape':(3,)}", "a structured type", 0, -1},
        {"{'descr':'', 'fortran_order':False,'shape':(3,)}", NULL, 1, -1},
        {"", DAMAGED, 0, -1},
        {"[]", DAMAGED, 0, -1},
        {"{", DAMAGED, 0, -1},
        {"{}", DAMAGED, 0, -1},
        {"{shape:(3,)}", DAMAGED, 0, -1},
        {"{'shape' (3,)}", DAMAGED, 0, -1},
        {"{'shape", DAMAGED, 0, -1},
        {"{'sh\\x61pe':(3,)}", DAMAGED, 0, -1},
        {"{'sh\x1b[2J':(3,)}", DAMAGED, 0, -1},
        {"{'sh\x7fpe':(3,)}", DAMAGED, 0, -1},
        {"{'a key that is longer than any that NumPy has':(3,)}", DAMAGED, 0, -1},
        {"{'shape':(3,),'shape':(3,)}", DAMAGED, 1, -1},
        {"{'other':(3,)}", DAMAGED, 0, -1},
        {"{'shape':3}", DAMAGED, 0, -1},
        {"{'shape':(3 5)}", DAMAGED, 1, -1},
        {"{'shape':(3,,)}", DAMAGED, 1, -1},
        {"{'shape':(-3,)}", DAMAGED, 0, -1},
        {"{'shape':(", DAMAGED, 0, -1},
        {"{'shape':(3", DAMAGED, 1, -1},
        {"{'shape':(92233720368547758070,)}", DAMAGED, 0, -1},
        {"{'shape':(9223372036854775808,)}", DAMAGED, 0, -1},
        {"{'shape':(3,) 'descr':'<f4'}", DAMAGED, 1, -1},
        {"{'fortran_order':0}", DAMAGED, 0, -1},
        {"{'descr':'<f4','fortran_order':False}", DAMAGED, 0, ASSAY_F32},
    };
    for (size_t i = 0; i < sizeof given / sizeof *given; ++i) {
        char type[NPY_TYPE];
        packed_tensor t;
        const char *wrong = parse(given[i].header, type, &t);
        if (given[i].wrong == NULL)
            CHECK_MSG(wrong == NULL, "%s: %s", given[i].header, wrong);
        else
            CHECK_MSG(wrong != NULL && strstr(wrong, given[i].wrong), "%s: %s", given[i].header,
                      wrong != NULL ? wrong : "taken");
        CHECK_MSG(t.rank == given[i].rank, "%s: rank %d", given[i].header, t.rank);
        CHECK_MSG(t.known == (given[i].known >= 0), "%s: %s", given[i].header, t.type);
        if (t.known)
            CHECK_MSG((int)t.dtype == given[i].known, "%s: %s", given[i].header, t.type);
        CHECK_MSG(t.bytes == DATA && t.data[0] == 7, "%s: its data", given[i].header);
    }
}

ASSAY_TEST(npy, what_precedes_a_header_is_held_to_the_file, "unit golden") {
    static const char header[] = "{'descr':'<f4','fortran_order':False,'shape':(2,)}";
    unsigned char bytes[ROOM];
    char type[NPY_TYPE];
    packed_tensor t;
    const size_t size = put(bytes, header);
    for (size_t cut = 0; cut < size - DATA; ++cut)
        CHECK_MSG(npy_parse(bytes, cut, type, &t) != NULL, "cut at %zu", cut);
    for (int version = 0; version <= 5; ++version) {
        unsigned char own[ROOM + 2] = {0};
        const int wide = version == 2 || version == 3;
        memcpy(own, bytes, 10);
        own[6] = (unsigned char)version;
        memcpy(own + (wide ? 12 : 10), bytes + 10, size - 10);
        const char *wrong = npy_parse(own, size + (wide ? 2 : 0), type, &t);
        CHECK_MSG((wrong == NULL) == (version >= 1 && version <= 3), "version %d: %s", version,
                  wrong != NULL ? wrong : "taken");
    }
    bytes[0] = 'x';
    CHECK(strstr(npy_parse(bytes, size, type, &t), "not a .npy array") != NULL);
}
