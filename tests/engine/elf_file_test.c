/* The dynamic section of a shared object, where each part of it lies outside, or does not end. */
#include "engine/elf_file.h"
#include "tests/shim/assay_test.h"

#include <link.h>
#include <string.h>

enum { LOAD, DYNAMIC, SEGMENTS };
enum { SONAME, FIRST, SECOND, PATH, OLD_PATH, NAMES, LAST, ENTRIES };

/* A shared object of headers, a dynamic section and its names. */
typedef struct object {
    ElfW(Ehdr) header;
    ElfW(Phdr) segment[SEGMENTS];
    ElfW(Dyn) entry[ENTRIES];
    char names[32];
} object;

enum { ADDRESS = 0x1000 };

static object make(void) {
    static const char names[] = "\0own.so\0a.so\0b.so\0$ORIGIN\0/old";
    object o = {
        .header = {.e_phoff = offsetof(object, segment),
                   .e_phnum = SEGMENTS,
                   .e_phentsize = sizeof(ElfW(Phdr))},
        .segment = {[LOAD] = {.p_type = PT_LOAD, .p_vaddr = ADDRESS, .p_filesz = sizeof o},
                    [DYNAMIC] = {.p_type = PT_DYNAMIC,
                                 .p_offset = offsetof(object, entry),
                                 .p_filesz = sizeof o.entry}},
        .entry = {[SONAME] = {.d_tag = DT_SONAME, .d_un.d_val = 1},
                  [FIRST] = {.d_tag = DT_NEEDED, .d_un.d_val = 8},
                  [SECOND] = {.d_tag = DT_NEEDED, .d_un.d_val = 13},
                  [PATH] = {.d_tag = DT_RUNPATH, .d_un.d_val = 18},
                  [OLD_PATH] = {.d_tag = DT_RPATH, .d_un.d_val = 26},
                  [NAMES] = {.d_tag = DT_STRTAB, .d_un.d_ptr = ADDRESS + offsetof(object, names)},
                  [LAST] = {.d_tag = DT_NULL}}};
    memcpy(o.header.e_ident, ELFMAG, SELFMAG);
    memcpy(o.names, names, sizeof names);
    return o;
}

static elf_dynamic read(const object *o) {
    elf_dynamic d;
    elf_read_dynamic((const char *)o, sizeof *o, &d);
    return d;
}

ASSAY_TEST(elf_file, names_are_read, "unit") {
    object o = make();
    elf_dynamic d = read(&o);
    CHECK_STREQ(d.name, "own.so");
    CHECK_STREQ(d.run_path, "$ORIGIN");
    REQUIRE(d.n_needed == 2);
    CHECK_STREQ(d.needed[0], "a.so");
    CHECK_STREQ(d.needed[1], "b.so");
    o.entry[PATH].d_tag = DT_DEBUG;
    d = read(&o);
    CHECK_STREQ(d.run_path, "/old");
    o.entry[LAST].d_tag = DT_DEBUG; /* the segment ends the list */
    d = read(&o);
    CHECK(d.n_needed == 2);
}

static void check_empty(const object *o, const char *what) {
    const elf_dynamic d = read(o);
    CHECK_MSG(d.n_needed == 0 && d.name[0] == '\0' && d.run_path[0] == '\0', "%s", what);
}

ASSAY_TEST(elf_file, what_is_not_there_is_left_empty, "unit") {
    object o = make();
    elf_dynamic d;
    for (size_t cut = 0; cut < sizeof o.header; ++cut) {
        elf_read_dynamic((const char *)&o, cut, &d);
        CHECK(d.n_needed == 0);
    }
    o.header.e_ident[0] = 'x';
    check_empty(&o, "another format");
    o = make();
    o.header.e_phentsize = 1;
    check_empty(&o, "segments of another size");
    o = make();
    o.header.e_phoff = sizeof o;
    check_empty(&o, "segments behind the end");
    o.header.e_phoff = UINT64_MAX - 8;
    check_empty(&o, "segments far behind the end");
    o = make();
    o.segment[DYNAMIC].p_type = PT_NOTE;
    check_empty(&o, "no dynamic section");
    o = make();
    o.segment[DYNAMIC].p_offset = sizeof o;
    check_empty(&o, "a dynamic section behind the end");

    /* Without names the entries are counted, and are empty. */
    static const uint64_t addresses[] = {ADDRESS - 1, ADDRESS + sizeof o, 0};
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; ++i) {
        o = make();
        o.entry[NAMES].d_un.d_ptr = addresses[i];
        d = read(&o);
        CHECK(d.n_needed == 2 && d.needed[0][0] == '\0' && d.name[0] == '\0');
    }
    o = make();
    o.segment[LOAD].p_filesz = offsetof(object, names); /* which ends where they begin */
    d = read(&o);
    CHECK(d.n_needed == 2 && d.needed[0][0] == '\0');
    o = make();
    memset(o.names, 'x', sizeof o.names);
    d = read(&o);
    CHECK(d.n_needed == 2 && d.needed[0][0] == '\0'); /* no name ends */
    o = make();
    o.entry[FIRST].d_un.d_val = UINT64_MAX - 4096;
    d = read(&o);
    CHECK(d.needed[0][0] == '\0' && strcmp(d.needed[1], "b.so") == 0);
}

/* More than are held: the rest is left out. */
ASSAY_TEST(elf_file, needs_are_bounded, "unit") {
    static struct {
        object o;
        ElfW(Dyn) entry[ELF_NEEDED + 9];
    } many;
    elf_dynamic d;
    many.o = make();
    many.o.segment[DYNAMIC].p_offset = offsetof(__typeof__(many), entry);
    many.o.segment[DYNAMIC].p_filesz = sizeof many.entry;
    for (size_t i = 0; i < ELF_NEEDED + 9; ++i)
        many.entry[i] = many.o.entry[FIRST];
    elf_read_dynamic((const char *)&many, sizeof many, &d);
    CHECK(d.n_needed == ELF_NEEDED);
}

ASSAY_TEST(elf_file, a_file_that_was_cut_short_is_known, "unit") {
    object o = make();
    const char *image = (const char *)&o;
    o.header.e_shoff = offsetof(object, names);
    o.header.e_shnum = 2;
    o.header.e_shentsize = 16;
    CHECK(elf_is_whole(image, sizeof o));
    CHECK(!elf_is_whole(image, sizeof o - 1));
    CHECK(!elf_is_whole(image, offsetof(object, names) - 1));
    CHECK(!elf_is_whole(image, sizeof o.header - 1));
    CHECK(!elf_is_whole(image, 2));
    CHECK(elf_mentions(image, sizeof o, "a.so"));
    CHECK(!elf_mentions(image, sizeof o, ".so")); /* the end of others */
    CHECK(!elf_mentions(image, 2, "a.so"));
    char longest[512];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    CHECK(!elf_mentions(image, sizeof o, longest));
    o.header.e_ident[0] = 'x';
    CHECK(!elf_is_whole(image, sizeof o) && !elf_mentions(image, sizeof o, "a.so"));
}

/* Machine code with one section, of a kernel. */
typedef struct machine_code {
    ElfW(Ehdr) header;
    ElfW(Shdr) section;
    char kernel[16];
} machine_code;

static int32_t architecture(const machine_code *m, size_t bytes) {
    return elf_cubin_architecture((const char *)m, bytes);
}

ASSAY_TEST(elf_file, machine_code_says_its_architecture, "unit") {
    machine_code m = {.header = {.e_machine = 190,
                                 .e_flags = 0x6005a04,
                                 .e_shoff = offsetof(machine_code, section),
                                 .e_shnum = 1,
                                 .e_shentsize = sizeof(ElfW(Shdr))},
                      .section = {.sh_type = SHT_PROGBITS,
                                  .sh_offset = offsetof(machine_code, kernel),
                                  .sh_size = sizeof m.kernel}};
    memcpy(m.header.e_ident, ELFMAG, SELFMAG);
    m.header.e_ident[EI_ABIVERSION] = 8;
    CHECK(architecture(&m, sizeof m) == 90);
    m.header.e_ident[EI_ABIVERSION] = 7;
    m.header.e_flags = 0x5a0550;
    CHECK(architecture(&m, sizeof m) == 80);
    CHECK(architecture(&m, sizeof m - 1) == 0); /* the kernel is cut */
    m.section.sh_type = SHT_NOBITS;
    CHECK(architecture(&m, sizeof m - 1) == 80);
    CHECK(architecture(&m, offsetof(machine_code, kernel) - 1) == 0);
    CHECK(architecture(&m, sizeof m.header - 1) == 0);
    m.header.e_phnum = 1;
    m.header.e_phoff = sizeof m;
    CHECK(architecture(&m, sizeof m) == 0);
    m.header.e_phnum = 0;
    m.header.e_machine = 62;
    CHECK(architecture(&m, sizeof m) == 0);
    m.header.e_machine = 190;
    m.header.e_shnum = 0;
    CHECK(architecture(&m, sizeof m) == 0);
}
