/*
 * assay_libtorch_arm ARM: LibTorch as a peer of `assay bench`, by the protocol of docs/bench.md.
 * Lines on standard input, an answer to each on standard output, tensors in file descriptor 3.
 */
#include "bench/peers/libtorch/timer.h"
#include "bench/peers/libtorch/work.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <c10/util/Exception.h>
#include <torch/version.h>

#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <vector>

namespace {

enum { SHARED_MEMORY = 3 /* the file descriptor */ };

using Arguments = std::vector<std::string>;

int64_t integer(const std::string &text) {
    size_t used = 0;
    long long value = -1;
    try {
        value = std::stoll(text, &used);
    } catch (const std::exception &) {
        used = 0;
    }
    if (used == 0 || used != text.size())
        throw Misuse("'" + text + "' is no integer");
    return value;
}

class SharedMemory {
  public:
    ~SharedMemory() {
        if (bytes)
            munmap(bytes, size);
    }

    void map() {
        struct stat file;
        if (bytes)
            return;
        if (fstat(SHARED_MEMORY, &file) != 0)
            throw Misuse("file descriptor 3 is not open: peers are started by assay bench");
        size = static_cast<size_t>(file.st_size);
        void *place = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, SHARED_MEMORY, 0);
        if (place == MAP_FAILED)
            throw Misuse("file descriptor 3 cannot be mapped: peers are started by assay bench");
        bytes = static_cast<char *>(place);
    }

    /* The tensor there, not a copy; `words` are NAME DTYPE OFFSET DIMS... */
    at::Tensor tensor(const Arguments &words) const {
        static const std::map<std::string, at::ScalarType> dtypes = {{"f64", at::kDouble},
                                                                     {"f32", at::kFloat},
                                                                     {"bf16", at::kBFloat16},
                                                                     {"f16", at::kHalf},
                                                                     {"i32", at::kInt}};
        const auto dtype = dtypes.find(words[1]);
        if (dtype == dtypes.end())
            throw Misuse(words[1] + " is no dtype; one of f64 f32 bf16 f16 i32");
        const int64_t offset = integer(words[2]);
        std::vector<int64_t> shape;
        int64_t count = 1;
        for (size_t i = 3; i < words.size(); ++i) {
            shape.push_back(integer(words[i]));
            if (shape.back() < 0 || __builtin_mul_overflow(count, shape.back(), &count))
                throw Misuse(words[0] + " has an extent that cannot be");
        }
        const auto element = static_cast<int64_t>(c10::elementSize(dtype->second));
        if (offset < 0 || count > (static_cast<int64_t>(size) - offset) / element)
            throw Misuse(words[0] + " lies outside of the shared memory");
        return at::from_blob(bytes + offset, shape, at::dtype(dtype->second));
    }

  private:
    char *bytes = nullptr;
    size_t size = 0;
};

const char *word(bool on) {
    return on ? "on" : "off";
}

class Arm {
  public:
    std::string answer(const std::string &line);

  private:
    std::string hello(const Arguments &a);
    std::string begin_case(const Arguments &a);
    std::string set(const Arguments &a);
    std::string declare(const Arguments &a);
    std::string ready(const Arguments &a);
    std::string run(const Arguments &a);
    std::string take(const Arguments &a);
    std::string time(const Arguments &a);
    std::string burst(const Arguments &a);
    std::string memory(const Arguments &a);
    std::string done(const Arguments &a);

    std::string asked(const Arguments &a);
    Work &at_work();
    void release();

    SharedMemory shared;
    at::Device device = at::kCPU;
    std::unique_ptr<Timer> timer;
    std::unique_ptr<Work> work; /* before the timer is gone */
};

Work &Arm::at_work() {
    if (!work)
        throw Misuse("say `case` before");
    return *work;
}

void Arm::release() {
    if (timer)
        timer->forget();
    if (work)
        work->release();
}

/* ---- the commands; a[0] is the command itself ---- */

std::string Arm::hello(const Arguments &a) {
    if (a[1] != "cuda" && a[1] != "sim")
        throw Misuse(a[1] + " is no device; one of cuda sim");
    if (a[1] == "cuda" && !at::hasCUDA())
        throw Unavailable("LibTorch sees no GPU here");
    device = a[1] == "cuda" ? at::Device(at::kCUDA, 0) : at::Device(at::kCPU);
    timer = a[1] == "cuda" ? cuda_timer() : host_timer();
    at::Context &context = at::globalContext();
    context.setBenchmarkCuDNN(true);
    context.setDeterministicCuDNN(false);
    context.setAllowBF16ReductionCuBLAS(false);
    context.setAllowFP16ReductionCuBLAS(false);
    std::ostringstream text;
    text << "LibTorch " << TORCH_VERSION << (a[1] == "cuda" ? "" : ", on the CPU")
         << ", reduced-precision reductions off, cudnn.benchmark " << word(context.benchmarkCuDNN())
         << ", cudnn.deterministic " << word(context.deterministicCuDNN());
    return text.str();
}

std::string Arm::begin_case(const Arguments &a) {
    if (!timer)
        throw Misuse("say `hello` before");
    release();
    work.reset();
    std::string text;
    bool tf32 = false;
    for (size_t i = 1; i < a.size(); ++i) {
        text += a[i] + " ";
        tf32 = tf32 || a[i] == "math=tf32";
    }
    at::Context &context = at::globalContext();
    context.setAllowTF32CuBLAS(tf32);
    context.setAllowTF32CuDNN(tf32);
    shared.map();
    work = std::make_unique<Work>(text, device);
    return std::string("TF32: matmul ") + word(context.allowTF32CuBLAS()) + ", cuDNN " +
           word(context.allowTF32CuDNN());
}

std::string Arm::set(const Arguments &a) {
    at_work().begin_set(static_cast<size_t>(integer(a[1])));
    return "";
}

std::string Arm::declare(const Arguments &a) {
    Work &at = at_work();
    at.declare(a[0], a[1], shared.tensor(Arguments(a.begin() + 1, a.end())));
    return "";
}

std::string Arm::ready(const Arguments &a) {
    Work &at = at_work();
    timer->forget();
    at.ready(a[1]);
    timer->synchronise();
    return "";
}

std::string Arm::run(const Arguments &a) {
    Call &call = at_work().call(static_cast<size_t>(integer(a[1])));
    call.prepare();
    call.run();
    timer->synchronise();
    return "";
}

std::string Arm::take(const Arguments &a) {
    at_work().take(static_cast<size_t>(integer(a[1])));
    return "";
}

/* a[3], LAST, is of no account: every call is given the data as they are. */
std::string Arm::time(const Arguments &a) {
    if (a[1] != "cold" && a[1] != "warm")
        throw Misuse(a[1] + " is no cache state; one of cold warm");
    const Turn turn = at_work().turn();
    const int64_t count = integer(a[2]);
    std::string text;
    for (double sample : a[1] == "cold" ? timer->cold(turn, count) : timer->warm(turn, count)) {
        char number[32];
        std::snprintf(number, sizeof number, "%s%.4f", text.empty() ? "" : " ", sample);
        text += number;
    }
    return text;
}

std::string Arm::burst(const Arguments &a) {
    timer->burst(at_work().turn(), integer(a[1]));
    return "";
}

std::string Arm::memory(const Arguments &) {
    const auto [most, before] = at_work().memory();
    return std::to_string(most) + " " + std::to_string(before);
}

std::string Arm::done(const Arguments &) {
    at_work();
    release();
    return "";
}

/* ---- answers ---- */

std::string Arm::asked(const Arguments &a) {
    static const struct {
        const char *name;
        size_t least; /* words behind it */
        std::string (Arm::*command)(const Arguments &);
    } commands[] = {
        {"hello", 1, &Arm::hello},   {"case", 1, &Arm::begin_case}, {"set", 1, &Arm::set},
        {"in", 3, &Arm::declare},    {"cot", 3, &Arm::declare},     {"out", 3, &Arm::declare},
        {"grad", 3, &Arm::declare},  {"ready", 1, &Arm::ready},     {"run", 1, &Arm::run},
        {"take", 1, &Arm::take},     {"time", 3, &Arm::time},       {"burst", 1, &Arm::burst},
        {"memory", 0, &Arm::memory}, {"done", 0, &Arm::done},
    };
    if (!a.empty() && a[0] == "self")
        throw Unavailable("LibTorch has no timer of its own");
    for (const auto &each : commands) {
        if (a.empty() || a[0] != each.name)
            continue;
        if (a.size() <= each.least)
            throw Misuse(a[0] + ": too few words");
        return (this->*each.command)(a);
    }
    throw Misuse("no such command: " + (a.empty() ? "" : a[0].substr(0, 80)));
}

std::string first_line(const std::string &text) {
    return text.substr(0, text.find('\n'));
}

std::string Arm::answer(const std::string &line) {
    std::istringstream stream(line);
    Arguments words;
    for (std::string each; stream >> each;)
        words.push_back(each);
    std::string reason;
    try {
        const std::string found = asked(words);
        return found.empty() ? "ok" : "ok " + found;
    } catch (const Unavailable &error) {
        return std::string("no unavailable ") + error.what();
    } catch (const Misuse &error) {
        return std::string("no error ") + error.what();
    } catch (const c10::OutOfMemoryError &error) {
        reason = first_line(error.what_without_backtrace());
    } catch (const std::bad_alloc &) {
        reason = "the host's memory is full";
    } catch (const c10::Error &error) {
        std::cerr << error.what() << std::endl;
        return "no error " + first_line(error.what_without_backtrace());
    } catch (const std::exception &error) {
        return "no error " + first_line(error.what());
    }
    release();
    return "no memory " + reason;
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 2 || std::string(argv[1]) != "libtorch") {
        std::fprintf(stderr, "usage: %s libtorch; peers are started by assay bench\n", argv[0]);
        return 2;
    }
    Arm arm;
    for (std::string line; std::getline(std::cin, line);)
        std::cout << arm.answer(line) << std::endl;
    return 0;
}
