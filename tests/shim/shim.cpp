/* Runs the C tests of assay_test.h under GoogleTest; the only C++ file of the tests. */
#include "tests/shim/assay_test.h"
#include "tests/shim/child.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csetjmp>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <pthread.h>
#include <set>
#include <sstream>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

enum { EXIT_USAGE = 2, EXIT_BROKEN = 3, EXIT_NOTHING_RAN = 4, EXIT_ALL_SKIPPED = 77 };

struct Entry {
    std::string suite, name, labels;
    void (*run)(void *);
    void *context;
    size_t weight;

    std::string id() const {
        return suite + "." + name;
    }
};

/* Constructors fill it before main, in an order that nothing may depend on. */
std::vector<Entry> &entries() {
    static std::vector<Entry> list;
    return list;
}

/* What follows each --run on this process's command line, which constructors cannot get from main.
 */
const std::vector<std::string> &named_tests() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> found;
        std::ifstream line("/proc/self/cmdline", std::ios::binary);
        std::string before, word;
        for (; std::getline(line, word, '\0'); before = word) {
            if (before == "--run") {
                found.push_back(word);
            }
        }
        return found;
    }();
    return names;
}

/* GoogleTest's own counts depend on filters, shards and repeats; these do not. */
std::atomic<long> failures{0}, tests_ended{0}, tests_skipped{0};

/* The running test's way out, which only its own thread can take: elsewhere it is null. */
struct Running {
    jmp_buf out;
    bool skipped = false;
    std::string reason;
};
thread_local Running *running = nullptr;

pid_t owner = 0; /* 0 until main starts */
bool main_returns = false;

[[noreturn]] void broken(const std::string &what) {
    std::fprintf(stderr, "assay_tests: %s\n", what.c_str());
    std::fflush(nullptr);
    _exit(EXIT_BROKEN);
}

std::string vformat(const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    const int length = std::vsnprintf(nullptr, 0, format, again);
    va_end(again);
    if (length < 0) {
        return format;
    }
    std::string text(static_cast<size_t>(length) + 1, '\0');
    std::vsnprintf(text.data(), text.size(), format, arguments);
    text.pop_back();
    return text;
}

void record(const char *file, int line, const std::string &text) {
    if (owner == 0) {
        broken(std::string(file) + ":" + std::to_string(line) + ": before any test: " + text);
    }
    if (getpid() != owner) {
        /* The parent's results are out of reach; the exit status is not. */
        std::fprintf(stderr, "%s:%d: in a child process: %s\n", file, line, text.c_str());
        std::fflush(nullptr);
        _exit(ASSAY_TEST_CHILD_FAILED);
    }
    failures++;
    ADD_FAILURE_AT(file, line) << text;
}

/* Leaves the test on its own thread; ends the thread on any other. Runs no destructors of the
 * frames that a longjmp crosses: callers hold no objects. */
[[noreturn]] void leave() {
    if (running != nullptr) {
        std::longjmp(running->out, 1);
    }
    pthread_exit(nullptr);
}

void record_skip(const char *file, int line, const std::string &reason) {
    if (getpid() != owner || running == nullptr) {
        record(file, line, "only the test's own thread may skip it: " + reason);
    } else {
        running->skipped = true;
        running->reason = std::string(file) + ":" + std::to_string(line) + ": " + reason;
    }
}

/* A function of its own: longjmp spares no local variable of the function that called setjmp. */
void run_until_left(const Entry &entry, Running &test) {
    if (setjmp(test.out) == 0) {
        entry.run(entry.context);
    }
}

class Body : public ::testing::Test {
  public:
    explicit Body(const Entry &entry) : entry_(entry) {
    }

    void TestBody() override {
        Running test;
        running = &test;
        try {
            run_until_left(entry_, test);
        } catch (const std::exception &e) {
            record(__FILE__, __LINE__, std::string("C++ exception: ") + e.what());
        } catch (...) {
            broken(entry_.id() + ": a foreign exception, or pthread_exit on the test's thread");
        }
        running = nullptr;
        tests_ended++;
        if (test.skipped) {
            tests_skipped++;
            GTEST_SKIP() << test.reason;
        }
    }

  private:
    const Entry &entry_;
};

/* exit(0) inside a test would otherwise look like a pass. */
void at_exit() {
    if (getpid() == owner && !main_returns) {
        broken("a test ended the process");
    }
}

void refuse_collisions() {
    std::set<std::string> seen;
    for (const Entry &entry : entries()) {
        if (!seen.insert(entry.id()).second) {
            broken("two tests are called '" + entry.id() + "': rename one");
        }
    }
}

void add_to_googletest(const Entry &entry) {
    ::testing::RegisterTest(entry.suite.c_str(), entry.name.c_str(), nullptr, nullptr, __FILE__,
                            __LINE__, [&entry]() -> ::testing::Test * { return new Body(entry); });
}

/* Bracket arguments take any text but their own closing bracket, which no name may hold. */
std::string bracket(const std::string &text) {
    return "[==[" + text + "]==]";
}

bool is_labelled(const Entry &entry, const char *word) {
    return (" " + entry.labels + " ").find(std::string(" ") + word + " ") != std::string::npos;
}

bool is_for_gpu(const Entry &entry) {
    return is_labelled(entry, "gpu");
}

/* Tests that ctest runs as one of its own. */
struct Batch {
    std::string name, suite, labels;
    std::vector<const Entry *> entries;
    size_t weight;
};

/* Those that a test shares a process with have the same. For the GPU a suite's smoke tests are few,
 * as its golden ones are, and so share one whatever their operators. */
std::string company(const Entry &entry) {
    for (const char *few : {"smoke", "golden"}) {
        if (is_for_gpu(entry) && is_labelled(entry, few)) {
            return std::string("gpu ") + few + (is_labelled(entry, "alone") ? " alone" : "");
        }
    }
    return entry.labels;
}

/* Its labels are those of all its tests. */
void add_labels(Batch &batch, const Entry &entry) {
    std::istringstream words(entry.labels);
    for (std::string word; words >> word;) {
        if ((" " + batch.labels + " ").find(" " + word + " ") == std::string::npos) {
            batch.labels += " " + word;
        }
    }
}

/* Each test is a process of its own, so that what one spoils spoils no other; but `size` tests of
 * one suite and the same labels share one if that is more than 1, and always those for the GPU,
 * where a process takes longer to start than its test to run. */
std::vector<Batch> batches(size_t size) {
    const size_t for_gpu = 400;
    std::vector<Batch> all;
    std::map<std::pair<std::string, std::string>, size_t> open;
    for (const Entry &entry : entries()) {
        const size_t most = is_for_gpu(entry) ? for_gpu : size;
        if (most == 1) {
            all.push_back({entry.id(), entry.suite, entry.labels, {&entry}, entry.weight});
            continue;
        }
        const std::string with = company(entry);
        const auto key = std::make_pair(entry.suite, with);
        const auto found = open.find(key);
        if (found != open.end() && all[found->second].weight < most) {
            add_labels(all[found->second], entry);
            all[found->second].entries.push_back(&entry);
            all[found->second].weight += entry.weight;
            continue;
        }
        open[key] = all.size();
        all.push_back({"", entry.suite, entry.labels, {&entry}, entry.weight});
    }
    std::map<std::string, int> numbered;
    for (Batch &batch : all) {
        if (batch.name.empty()) {
            batch.name = batch.suite + ": " + company(*batch.entries[0]);
            batch.name += " " + std::to_string(++numbered[batch.name]);
        }
    }
    return all;
}

struct Options {
    std::vector<std::string> run;
    std::string ctest_file, prefix, extra_labels, timeout = "120", batch = "1", cost = "0";
};

/* Lines for ctest: each batch in a process of its own, under its labels. */
void write_ctest(const std::string &path, const std::string &program, const Options &options,
                 size_t batch) {
    FILE *file = std::fopen(path.c_str(), "w");
    if (file == nullptr) {
        broken(path + ": " + std::strerror(errno));
    }
    for (const Batch &one : batches(batch)) {
        std::string labels = one.labels;
        labels += options.extra_labels.empty() ? "" : " " + options.extra_labels;
        for (char &c : labels) {
            c = c == ' ' ? ';' : c;
        }
        const std::string name = bracket(options.prefix + one.name);
        std::fprintf(file, "add_test(%s %s", name.c_str(), bracket(program).c_str());
        for (const Entry *entry : one.entries) {
            std::fprintf(file, " --run %s", bracket(entry->id()).c_str());
        }
        /* ctest gives it a slot of a GPU (ci/gpu_slots.json); without a file it has no effect. */
        const char *resource = is_for_gpu(*one.entries[0]) ? " RESOURCE_GROUPS gpus:1" : "";
        /* Those that wait for a GPU begin first: fewer run at a time. */
        const std::string cost = is_for_gpu(*one.entries[0]) ? "50" : options.cost;
        const char *serial = is_labelled(*one.entries[0], "alone") ? " RUN_SERIAL TRUE" : "";
        std::fprintf(file,
                     ")\nset_tests_properties(%s PROPERTIES LABELS %s TIMEOUT %s COST %s "
                     "SKIP_RETURN_CODE %d%s%s)\n",
                     name.c_str(), bracket(labels).c_str(), options.timeout.c_str(), cost.c_str(),
                     EXIT_ALL_SKIPPED, resource, serial);
    }
    if (std::ferror(file) != 0 || std::fclose(file) != 0) {
        broken(path + ": cannot be written");
    }
}

[[noreturn]] void usage(FILE *to, int status) {
    std::fprintf(
        to,
        "usage: assay_tests [--run SUITE.NAME]... [--gtest_...]\n"
        "       assay_tests --write-ctest FILE [--labels WORDS] [--timeout SECONDS] [--batch N]\n"
        "                   [--prefix TEXT] [--cost N]\n"
        "exit: 0 all passed or skipped, 1 a test failed, 77 all were skipped,\n"
        "      other: no test ran, or the tests themselves are broken\n");
    main_returns = true;
    std::exit(status);
}

Options parse(int argc, char **argv) {
    Options options;
    for (int i = 1; i < argc; i++) {
        const std::string flag = argv[i];
        if (flag == "--help") {
            usage(stdout, 0);
        }
        if (i + 1 == argc) {
            usage(stderr, EXIT_USAGE);
        }
        const std::string value = argv[++i];
        if (flag == "--run") {
            options.run.push_back(value);
        } else if (flag == "--write-ctest") {
            options.ctest_file = value;
        } else if (flag == "--labels") {
            options.extra_labels = value;
        } else if (flag == "--prefix") { /* of all names */
            options.prefix = value;
        } else if (flag == "--timeout") {
            options.timeout = value;
        } else if (flag == "--batch") {
            options.batch = value;
        } else if (flag == "--cost") { /* the larger, the earlier it starts */
            options.cost = value;
        } else {
            usage(stderr, EXIT_USAGE);
        }
    }
    return options;
}

/* Exact names, unlike --gtest_filter, in which '*', '?', '-' and ':' mean something. */
void select_tests(const std::vector<std::string> &wanted) {
    for (const std::string &name : wanted) {
        bool found = false;
        for (const Entry &entry : entries()) {
            if (entry.id() == name) {
                add_to_googletest(entry);
                found = true;
            }
        }
        if (!found) {
            std::fprintf(stderr,
                         "assay_tests: no test is called '%s'; --gtest_list_tests lists them\n",
                         name.c_str());
            main_returns = true;
            std::exit(EXIT_NOTHING_RAN);
        }
    }
    if (wanted.empty()) {
        for (const Entry &entry : entries()) {
            add_to_googletest(entry);
        }
    }
}

int run_tests() {
    const int status = RUN_ALL_TESTS();
    if (status != 0 || failures.load() != 0) {
        return 1;
    }
    if (GTEST_FLAG_GET(list_tests)) {
        return 0;
    }
    if (tests_ended.load() == 0) {
        std::fprintf(stderr, "assay_tests: no test ran: nothing matches the filter\n");
        return EXIT_NOTHING_RAN;
    }
    return tests_skipped.load() == tests_ended.load() ? EXIT_ALL_SKIPPED : 0;
}

/* A word that would be lost or misread on the way through GoogleTest and ctest. */
const char *name_defect(const char *name) {
    if (name[0] == '\0') {
        return "empty";
    }
    if (std::strncmp(name, "DISABLED_", 9) == 0) {
        return "GoogleTest would not run it";
    }
    for (const char *c = name; *c != '\0'; c++) {
        if (std::strchr(":'\"\\[];", *c) != nullptr || static_cast<unsigned char>(*c) < ' ') {
            return "it holds one of : ' \" \\ [ ] ; or a control character";
        }
    }
    return nullptr;
}

bool labels_are_legal(const char *labels) {
    return labels[0] != '\0' && labels[0] != ' ' &&
           std::strspn(labels, "abcdefghijklmnopqrstuvwxyz0123456789_ ") == std::strlen(labels);
}

} // namespace

bool assay_test_wanted(const char *suite, const char *word) {
    const std::string start = std::string(suite) + ".";
    for (const std::string &name : named_tests()) {
        if (name.compare(0, start.size(), start) == 0 &&
            name.find(word, start.size()) != std::string::npos) {
            return true;
        }
    }
    return named_tests().empty();
}

void assay_test_register(const char *suite, const char *name, const char *labels,
                         void (*run)(void *), void *context) {
    for (const char *word : {suite, name}) {
        if (const char *defect = name_defect(word)) {
            broken(std::string("test '") + suite + "." + name + "': bad name: " + defect);
        }
    }
    if (!labels_are_legal(labels)) {
        broken(std::string("test '") + suite + "." + name + "': labels are words of a-z 0-9 _, " +
               "separated by blanks, at least one; not '" + labels + "'");
    }
    entries().push_back({suite, name, labels, run, context, 1});
}

void assay_test_weigh(unsigned tests) {
    entries().back().weight = tests;
}

void assay_test_fail(const char *file, int line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    record(file, line, vformat(format, arguments));
    va_end(arguments);
}

void assay_test_abort(const char *file, int line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    record(file, line, vformat(format, arguments));
    va_end(arguments);
    leave();
}

void assay_test_skip(const char *file, int line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    record_skip(file, line, vformat(format, arguments));
    va_end(arguments);
    leave();
}

void assay_test_skip_gpu(const char *file, int line, const char *reason) {
    const char *required = std::getenv("ASSAY_REQUIRE_GPU");
    if (required != nullptr && std::strcmp(required, "1") == 0) {
        assay_test_abort(file, line, "ASSAY_REQUIRE_GPU=1, but: %s", reason);
    }
    record_skip(file, line, reason);
    leave();
}

int main(int argc, char **argv) {
    owner = getpid();
    std::atexit(at_exit);
    ::testing::InitGoogleTest(&argc, argv);
    const Options options = parse(argc, argv);
    refuse_collisions();
    int status = 0;
    if (!options.ctest_file.empty()) {
        write_ctest(options.ctest_file, std::filesystem::read_symlink("/proc/self/exe"), options,
                    std::max<size_t>(1, std::strtoul(options.batch.c_str(), nullptr, 10)));
    } else {
        select_tests(options.run);
        status = run_tests();
    }
    main_returns = true;
    return status;
}
