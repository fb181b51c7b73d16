/* A kernel file is what it was when it was opened: for its hash, and for the process that loads it.
 */
#include "engine/elf_file.h"
#include "engine/isolate.h"
#include "engine/kernel_file.h"
#include "engine/runner.h"
#include "engine/variant_run.h"
#include "tests/shim/assay_test.h"

#include <dirent.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static void copy_file(const char *from, const char *to) {
    char command[2 * PATH_MAX + 16];
    snprintf(command, sizeof command, "cp '%s' '%s'", from, to);
    REQUIRE(system(command) == 0);
}

static assay_status run_once(const assay_device *device) {
    assay_case c;
    assay_problem p;
    assay_results got;
    REQUIRE_OK(assay_case_parse("weighted_sum n=2 d=3 dtype=f32 seed=0", &c));
    REQUIRE_OK(assay_problem_init(&p, &c));
    REQUIRE_OK(assay_results_init(&got, &p.sig));
    const assay_status status =
        assay_run(variant_find(device, "weighted_sum", "v1"), device, &p, &got);
    assay_results_clear(&got);
    assay_problem_clear(&p);
    return status;
}

/* In a folder of its own, without a slash in the name. */
ASSAY_TEST(kernel_file, what_is_hashed_is_what_is_loaded, "unit sim") {
    char folder[] = "/tmp/assay-kernel-XXXXXX", before[PATH_MAX], hash[HASH_TEXT];
    const assay_device *sim, *apart;
    REQUIRE(getcwd(before, sizeof before) && mkdtemp(folder) && chdir(folder) == 0);
    copy_file(ASSAY_EXPLOITS "/v1.so", "mine.so");
    REQUIRE_OK(hash_file("mine.so", hash));
    REQUIRE_OK(assay_device_open("sim", &sim));
    const assay_isolation how = {
        .kernel = "mine.so", .op = "weighted_sum", .variant = "v1", .seconds = 60, .gib = 8};
    REQUIRE_OK(assay_isolate(sim, &how, &apart));
    CHECK(strcmp(assay_isolated_kernel_hash(apart), hash) == 0);
    copy_file("/bin/true", "mine.so"); /* which is no kernel file */
    REQUIRE_OK(run_once(apart));
    CHECK(strcmp(assay_isolated_kernel_hash(apart), hash) == 0);
    assay_isolate_end(apart);
    CHECK_FAILS(assay_isolate(sim, &how, &apart), ASSAY_ERR_USAGE, "ASSAY_VARIANT names another");
    CHECK_FAILS(
        assay_isolate(
            sim, &(assay_isolation){.kernel = "/dev/null", .op = "weighted_sum", .variant = "v1"},
            &apart),
        ASSAY_ERR_FILE, "is no file");
    REQUIRE(mkfifo("pipe", 0600) == 0); /* without a writer: to wait for one would be for ever */
    kernel_file k;
    CHECK_FAILS(kernel_file_open(&k, "pipe"), ASSAY_ERR_FILE, "is no file");
    REQUIRE(unlink("pipe") == 0);
    REQUIRE(unlink("mine.so") == 0 && chdir(before) == 0 && rmdir(folder) == 0);
}

/* Whatever bytes it has. */
ASSAY_TEST(kernel_file, a_damaged_file_is_read_without_harm, "unit") {
    kernel_file k;
    REQUIRE_OK(kernel_file_open(&k, ASSAY_EXPLOITS "/state.so"));
    const kernel_part *own = &k.part[k.n_parts - 1];
    elf_dynamic d;
    elf_read_dynamic(own->image, own->bytes, &d);
    CHECK(d.n_needed > 0);
    char *image = malloc(own->bytes);
    REQUIRE(image != NULL);
    for (size_t cut = 0; cut < own->bytes; cut += 1 + cut / 8) {
        char *part = malloc(cut + 1); /* of that size, so that AddressSanitizer sees its end */
        memcpy(part, own->image, cut);
        elf_read_dynamic(part, cut, &d);
        free(part);
    }
    for (size_t i = 0; i < 4096 && i < own->bytes; ++i) {
        memcpy(image, own->image, own->bytes);
        image[i] = (char)0xff;
        elf_read_dynamic(image, own->bytes, &d);
        CHECK(d.n_needed >= 0 && d.n_needed <= ELF_NEEDED);
    }
    free(image);
    kernel_file_close(&k);
}

/* ---- the libraries that it brings along ---- */

enum { NEEDED = 40, NAMES = 1 << 15 };

/* A shared object of nothing but its dynamic section, which is all that is looked at. */
typedef struct object {
    ElfW(Ehdr) header;
    ElfW(Phdr) segment[2];
    ElfW(Dyn) entry[NEEDED + 4];
    char names[NAMES];
} object;

typedef struct written {
    object o;
    size_t entries, used;
} written;

static void put(written *w, int64_t tag, const char *name) {
    REQUIRE(w->used + strlen(name) < NAMES && w->entries < NEEDED + 3);
    strcpy(w->o.names + w->used, name);
    w->o.entry[w->entries++] = (ElfW(Dyn)){.d_tag = tag, .d_un.d_val = w->used};
    w->used += strlen(name) + 1;
}

/* `needed`: names with blanks between them. */
static void put_needed(written *w, const char *needed) {
    char *copy = strdup(needed), *rest = NULL;
    for (char *n = strtok_r(copy, " ", &rest); n != NULL; n = strtok_r(NULL, " ", &rest))
        put(w, DT_NEEDED, n);
    free(copy);
}

static void write_object(const char *path, const char *name, const char *run_path,
                         const char *needed) {
    static written w;
    w = (written){.used = 1};
    w.o.header = (ElfW(Ehdr)){
        .e_phoff = offsetof(object, segment), .e_phnum = 2, .e_phentsize = sizeof(ElfW(Phdr))};
    memcpy(w.o.header.e_ident, ELFMAG, SELFMAG);
    w.o.segment[0] = (ElfW(Phdr)){.p_type = PT_LOAD, .p_filesz = sizeof w.o};
    w.o.segment[1] = (ElfW(Phdr)){
        .p_type = PT_DYNAMIC, .p_offset = offsetof(object, entry), .p_filesz = sizeof w.o.entry};
    put(&w, DT_SONAME, name);
    put(&w, DT_RUNPATH, run_path);
    put_needed(&w, needed);
    w.o.entry[w.entries++] = (ElfW(Dyn)){.d_tag = DT_STRTAB, .d_un.d_ptr = offsetof(object, names)};
    FILE *to = fopen(path, "wb");
    REQUIRE(to != NULL && fwrite(&w.o, sizeof w.o, 1, to) == 1 && fclose(to) == 0);
}

/* A folder of the test's own, which is the current one until it is left. */
typedef struct place {
    char folder[64], before[PATH_MAX];
} place;

static void enter(place *p) {
    strcpy(p->folder, "/tmp/assay-parts-XXXXXX");
    REQUIRE(getcwd(p->before, sizeof p->before) && mkdtemp(p->folder) && chdir(p->folder) == 0);
}

static void leave(const place *p) {
    DIR *folder = opendir(".");
    REQUIRE(folder != NULL);
    for (struct dirent *e; (e = readdir(folder)) != NULL;)
        if (e->d_name[0] != '.')
            REQUIRE(remove(e->d_name) == 0);
    closedir(folder);
    REQUIRE(chdir(p->before) == 0 && rmdir(p->folder) == 0);
}

/* Opens own.so, which needs that; `parts`: the names that are then brought along, in their order.
 */
static void check_parts(const char *run_path, const char *needed, const char *parts) {
    kernel_file k;
    char got[1024] = "";
    write_object("own.so", "own.so", run_path, needed);
    REQUIRE_OK(kernel_file_open(&k, "own.so"));
    for (int32_t i = 0; i + 1 < k.n_parts; ++i)
        strcat(strcat(got, i > 0 ? " " : ""), k.part[i].name);
    CHECK_STREQ(got, parts);
    CHECK_STREQ(k.part[k.n_parts - 1].name, "");
    int colons = 0;
    for (const char *c = k.loaded; *c != '\0'; ++c)
        colons += *c == ':';
    CHECK(colons == k.n_parts - 1);
    kernel_file_close(&k);
}

ASSAY_TEST(kernel_file, what_it_brings_along_is_found_as_the_loader_does, "unit") {
    static char longest[2 * PATH_MAX], path[6 * PATH_MAX];
    place p;
    enter(&p);
    write_object("a.so", "a.so", "", "");
    write_object("b.so", "b.so", "$ORIGIN", "a.so");
    check_parts("$ORIGIN", "", "");
    check_parts("$ORIGIN", "a.so b.so", "a.so b.so"); /* once, though b needs it, too */
    check_parts("${ORIGIN}", "b.so", "a.so b.so");
    check_parts("", "a.so", "");
    check_parts("x:/nowhere::$ORIGIN/.", "a.so", "a.so");
    check_parts("$ORIGIN", "gone.so", "");
    check_parts("/usr/bin:$ORIGIN", "env", ""); /* the system's */
    check_parts(p.folder, "a.so", "a.so");
    check_parts("$ORIGIN", "/usr/bin/env /nowhere/a.so", "");
    memset(longest, '/', sizeof longest - 1);
    snprintf(path, sizeof path, "$ORIGIN%s:%s:%.*s:$ORIGIN", longest, longest, PATH_MAX - 3,
             longest);
    check_parts(path, "a.so", "a.so"); /* folders that are too long are none */
    snprintf(path, sizeof path, "%s/c.so", p.folder);
    write_object("c.so", path, "", "");
    check_parts("", path, path);
    leave(&p);
}

ASSAY_TEST(kernel_file, its_hash_is_of_all_parts, "unit") {
    kernel_file k;
    char alone[HASH_TEXT], first[HASH_TEXT];
    place p;
    enter(&p);
    write_object("a.so", "a.so", "", "");
    write_object("own.so", "own.so", "$ORIGIN", "a.so");
    REQUIRE_OK(hash_file("own.so", alone));
    REQUIRE_OK(kernel_file_open(&k, "own.so"));
    CHECK(k.n_parts == 2 && strcmp(k.hash, alone) != 0);
    memcpy(first, k.hash, sizeof first);
    kernel_file_close(&k);
    REQUIRE_OK(kernel_file_open(&k, "own.so"));
    CHECK_STREQ(k.hash, first);
    kernel_file_close(&k);
    write_object("a.so", "a.so", "/other", "");
    REQUIRE_OK(kernel_file_open(&k, "own.so"));
    CHECK(strcmp(k.hash, first) != 0);
    kernel_file_close(&k);
    REQUIRE(remove("a.so") == 0);
    REQUIRE_OK(kernel_file_open(&k, "own.so"));
    CHECK_STREQ(k.hash, alone);
    kernel_file_close(&k);
    leave(&p);
}

static void check_refused(const char *needed, const char *line) {
    kernel_file k;
    write_object("own.so", "own.so", "$ORIGIN", needed);
    CHECK_FAILS(kernel_file_open(&k, "own.so"), ASSAY_ERR_FILE, line);
    CHECK(k.n_parts == 0);
}

/* Sockets are no files that open() opens. */
static void make_socket(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    const int s = socket(AF_UNIX, SOCK_STREAM, 0);
    REQUIRE(s >= 0 && bind(s, (const struct sockaddr *)&address, sizeof address) == 0);
    close(s);
}

ASSAY_TEST(kernel_file, what_cannot_be_brought_along_gets_a_line, "unit") {
    static char text[4096];
    kernel_file k;
    place p;
    enter(&p);
    write_object("a.so", "b.so", "", "");
    check_refused("a.so", "a.so: is needed as a.so, and says another name of itself; link it with "
                          "-Wl,-soname,a.so");
    write_object("a.so", "a.so", "$ORIGIN", "b.so");
    write_object("b.so", "b.so", "$ORIGIN", "a.so");
    check_refused("a.so", ".so: its libraries need each other too deeply");
    make_socket("s.so");
    check_refused("s.so", "s.so: No such device or address");
    memset(text, '/', 300);
    snprintf(text + 300, sizeof text - 300, "%s/a.so", p.folder);
    check_refused(text, "need each other too deeply");
    size_t used = 0;
    for (int i = 0; i < KERNEL_PARTS; ++i) {
        char name[16];
        snprintf(name, sizeof name, "m%d.so", i);
        write_object(name, name, "", "");
        used += (size_t)snprintf(text + used, sizeof text - used, "%s ", name);
    }
    check_refused(text, "own.so: brings more than 31 libraries along");
    CHECK_FAILS(kernel_file_open(&k, "gone.so"), ASSAY_ERR_FILE, "gone.so: No such file");
    leave(&p);
}

/* Only loading shows that it is no library. */
ASSAY_TEST(kernel_file, an_empty_one_and_half_a_one_open, "unit") {
    kernel_file k;
    place p;
    enter(&p);
    FILE *to = fopen("empty.so", "wb");
    REQUIRE(to != NULL && fclose(to) == 0);
    REQUIRE_OK(kernel_file_open(&k, "empty.so"));
    CHECK(k.n_parts == 1 && k.part[0].bytes == 0);
    CHECK(kernel_file_names(&k, "empty.so", "f") == ASSAY_OK);
    kernel_file_close(&k);
    copy_file(ASSAY_EXPLOITS "/v1.so", "half.so");
    REQUIRE(truncate("half.so", 4096) == 0);
    REQUIRE_OK(kernel_file_open(&k, "half.so"));
    CHECK(kernel_file_names(&k, "half.so", "f") == ASSAY_OK);
    kernel_file_close(&k);
    copy_file(ASSAY_EXPLOITS "/v1.so", "whole.so");
    REQUIRE_OK(kernel_file_open(&k, "whole.so"));
    CHECK_FAILS(kernel_file_names(&k, "whole.so", "no_such_name"), ASSAY_ERR_USAGE,
                "whole.so has no no_such_name");
    kernel_file_close(&k);
    leave(&p);
}
