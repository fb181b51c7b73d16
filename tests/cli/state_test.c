/* Where certificates are kept: the folder's name, the certificates' names, and the key. */
#include "cli/state.h"
#include "tests/shim/assay_test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The three variables; NULL: not set. Tests of one process run one after the other. */
static void set_names(const char *given, const char *state, const char *home) {
    const char *const name[] = {"ASSAY_CERTIFICATES", "XDG_STATE_HOME", "HOME"};
    const char *const value[] = {given, state, home};
    for (int i = 0; i < 3; ++i)
        REQUIRE((value[i] ? setenv(name[i], value[i], 1) : unsetenv(name[i])) == 0);
}

typedef struct names {
    char *kept[3];
} names;

static char *copy_of(const char *name) {
    const char *value = getenv(name);
    return value ? strdup(value) : NULL;
}

static names names_keep(void) {
    return (names){{copy_of("ASSAY_CERTIFICATES"), copy_of("XDG_STATE_HOME"), copy_of("HOME")}};
}

static void names_restore(names *n) {
    set_names(n->kept[0], n->kept[1], n->kept[2]);
    for (int i = 0; i < 3; ++i)
        free(n->kept[i]);
}

static void expect_folder(const char *place, const char *want) {
    char path[PATH_MAX], whole[PATH_MAX];
    struct stat info;
    REQUIRE_OK(state_directory(path));
    snprintf(whole, sizeof whole, "%s/%s", place, want);
    CHECK_STREQ(path, whole);
    CHECK(stat(path, &info) == 0 && S_ISDIR(info.st_mode));
}

ASSAY_TEST(cli_state, the_folder_is_the_first_that_is_named, "unit") {
    char place[] = "/tmp/assay-state-XXXXXX", given[64], state[64], home[64], path[PATH_MAX];
    static char longest[PATH_MAX + 1];
    names kept = names_keep();
    REQUIRE(mkdtemp(place) != NULL);
    snprintf(given, sizeof given, "%s/given/deep", place);
    snprintf(state, sizeof state, "%s/state", place);
    snprintf(home, sizeof home, "%s/home", place);
    set_names(given, state, home);
    expect_folder(place, "given/deep");
    set_names("", state, home);
    expect_folder(place, "state/assay/certificates");
    set_names(NULL, "", home);
    expect_folder(place, "home/.local/state/assay/certificates");
    set_names(NULL, NULL, "");
    CHECK_FAILS(state_directory(path), ASSAY_ERR_USAGE, "HOME is not set");
    set_names(NULL, NULL, NULL);
    CHECK_FAILS(state_directory(path), ASSAY_ERR_USAGE, "HOME is not set");
    set_names("/dev/null/x", NULL, NULL);
    CHECK_FAILS(state_directory(path), ASSAY_ERR_FILE, "/dev/null/x: cannot be made; set ASSAY_");
    memset(longest, 'x', PATH_MAX);
    set_names(longest, NULL, NULL);
    CHECK_FAILS(state_directory(path), ASSAY_ERR_USAGE, "the path of the certificates is too long");
    names_restore(&kept);
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", place);
    CHECK(system(command) == 0);
}

ASSAY_TEST(cli_state, a_certificate_is_named_by_its_subject_and_scope, "unit") {
    static const struct {
        check_scope scope;
        const char *name;
    } table[] = {{{false, false}, "d/rope-v1-sim.cert"},
                 {{true, false}, "d/rope-v1-sim-forward.cert"},
                 {{false, true}, "d/rope-v1-sim-packed.cert"},
                 {{true, true}, "d/rope-v1-sim-forward-packed.cert"}};
    static char longest[PATH_MAX];
    char path[PATH_MAX];
    certificate_subject s = {.op = "rope", .variant = "v1", .device = "sim"};
    for (int i = 0; i < 4; ++i) {
        s.scope = table[i].scope;
        REQUIRE_OK(state_certificate_path("d", &s, path));
        CHECK_STREQ(path, table[i].name);
    }
    memset(longest, 'x', PATH_MAX - 10);
    CHECK_FAILS(state_certificate_path(longest, &s, path), ASSAY_ERR_USAGE, "is too long");
}

/* ---- the key ---- */

typedef struct vault {
    char place[64], key[80];
} vault;

static void vault_open(vault *v) {
    snprintf(v->place, sizeof v->place, "/tmp/assay-key-XXXXXX");
    REQUIRE(mkdtemp(v->place) != NULL);
    snprintf(v->key, sizeof v->key, "%s/key", v->place);
}

static void vault_close(vault *v) {
    (void)unlink(v->key);
    CHECK_MSG(rmdir(v->place) == 0, "files are left beside the key");
}

ASSAY_TEST(cli_state, a_key_is_made_once_and_for_its_user_alone, "unit") {
    unsigned char first[HASH_KEY], second[HASH_KEY];
    struct stat info;
    vault v;
    vault_open(&v);
    REQUIRE_OK(state_key(v.place, first));
    REQUIRE_OK(state_key(v.place, second));
    CHECK(memcmp(first, second, sizeof first) == 0);
    CHECK(stat(v.key, &info) == 0 && (info.st_mode & 0777) == 0600 && info.st_size == HASH_KEY);
    REQUIRE(unlink(v.key) == 0);
    REQUIRE_OK(state_key(v.place, second));
    CHECK_MSG(memcmp(first, second, sizeof first) != 0, "two keys are alike");
    vault_close(&v);
}

ASSAY_TEST(cli_state, a_file_that_is_no_key_is_refused, "unit") {
    unsigned char key[HASH_KEY];
    static char longest[PATH_MAX + 1];
    vault v;
    vault_open(&v);
    const int file = open(v.key, O_CREAT | O_WRONLY, 0600);
    REQUIRE(file >= 0 && write(file, v.place, HASH_KEY - 1) == HASH_KEY - 1 && close(file) == 0);
    CHECK_FAILS(state_key(v.place, key), ASSAY_ERR_FILE, "is not a key; delete it");
    REQUIRE(unlink(v.key) == 0);
    REQUIRE(symlink("nowhere", v.key) == 0); /* there, and yet not to be opened */
    CHECK_FAILS(state_key(v.place, key), ASSAY_ERR_FILE, "key: cannot be read");
    vault_close(&v);
    CHECK_FAILS(state_key(v.place, key), ASSAY_ERR_FILE, "key: cannot be made");
    memset(longest, 'x', PATH_MAX);
    CHECK_FAILS(state_key(longest, key), ASSAY_ERR_USAGE, "is too long");
    longest[PATH_MAX - 6] = '\0'; /* the key's own name fits, that of the file aside does not */
    CHECK_FAILS(state_key(longest, key), ASSAY_ERR_USAGE, "is too long");
}

/* The exit code of the child: 0, or the number of the step that was wrong. */
static int in_child(int (*body)(const vault *v), const vault *v) {
    int how;
    (void)fflush(NULL); /* else the child would print it as well */
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
        exit(body(v));
    REQUIRE(waitpid(child, &how, 0) == child);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

/* No byte can be written: no half of a key may stay. */
static int make_on_full_disk(const vault *v) {
    unsigned char key[HASH_KEY];
    struct rlimit usual, none;
    if (getrlimit(RLIMIT_FSIZE, &usual) != 0 || signal(SIGXFSZ, SIG_IGN) == SIG_ERR)
        return 1;
    none = (struct rlimit){0, usual.rlim_max};
    if (setrlimit(RLIMIT_FSIZE, &none) != 0)
        return 1;
    const bool failed = state_key(v->place, key) == ASSAY_ERR_FILE &&
                        strstr(assay_error(), "key: cannot be made: File too large") != NULL;
    return setrlimit(RLIMIT_FSIZE, &usual) == 0 && failed ? 0 : 2;
}

ASSAY_TEST(cli_state, a_full_disk_leaves_no_key, "unit") {
    vault v;
    vault_open(&v);
    CHECK(in_child(make_on_full_disk, &v) == 0);
    CHECK(access(v.key, F_OK) != 0);
    vault_close(&v);
}

/* The first read is of this process, which no wall surrounds yet. */
static int look_when_concealed(const vault *v) {
    char key[HASH_KEY];
    int file = open(v->key, O_RDONLY);
    if (file < 0 || read(file, key, sizeof key) != sizeof key)
        return 1;
    close(file);
    set_names(v->place, NULL, NULL);
    state_conceal_key();
    file = open(v->key, O_RDONLY);
    return file >= 0 && read(file, key, sizeof key) == 0 ? 0 : 2;
}

/* No folder is named, or no key is in it: there is nothing to conceal, and the process stays. */
static int conceal_nothing(const vault *v) {
    const pid_t before = getpid();
    set_names(NULL, NULL, NULL);
    state_conceal_key();
    set_names(v->place, NULL, NULL);
    state_conceal_key();
    static char longest[PATH_MAX];
    memset(longest, 'x', PATH_MAX - 2);
    set_names(longest, NULL, NULL);
    state_conceal_key();
    return getpid() == before ? 0 : 1;
}

ASSAY_TEST(cli_state, the_key_is_concealed, "unit") {
    unsigned char key[HASH_KEY];
    vault v;
    vault_open(&v);
    CHECK(in_child(conceal_nothing, &v) == 0);
    REQUIRE_OK(state_key(v.place, key));
    if (system("unshare --mount --pid true 2>/dev/null || "
               "unshare --user --mount --pid true 2>/dev/null") == 0)
        CHECK(in_child(look_when_concealed, &v) == 0);
    REQUIRE_OK(state_key(v.place, key)); /* outside it is still there */
    vault_close(&v);
}
