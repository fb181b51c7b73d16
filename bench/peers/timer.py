"""How calls are timed, as docs/bench.md says. All times are in microseconds.

Both timers take `calls`, which have prepare() (not timed) and run() (timed), in turn.
"""

import math
import statistics
import sys
import time

try:
    import torch
    import torch.utils.benchmark
except ImportError:  # then there is the host's timer alone
    torch = None

WARM_SAMPLE = 1000.0  # a sample of warm calls lasts about as long
MOST_WARM_CALLS = 256  # in one sample


def in_turn(calls, count):
    return (calls[i % len(calls)] for i in range(count))


def calls_of_a_sample(calls, duration):
    """How many calls make a warm sample, each of the sets as often as the others."""
    wanted = min(max(1, math.ceil(WARM_SAMPLE / max(duration, 1e-3))), MOST_WARM_CALLS)
    return math.ceil(wanted / len(calls)) * len(calls)


def nothing():
    pass


def leave_results(calls):
    """Calls that change their tensors in place went on from one another, and what they computed is
    of no use to the parent: leaves one more of each, of the tensors that were given."""
    for call in calls:
        if call.computation.in_place:
            call.prepare()
            call.run()


def customary(call, count, cuda):
    """The median, as people time PyTorch; on a GPU Triton's timer where there is one, with its defaults."""
    if cuda:
        try:
            from triton.testing import do_bench

            return do_bench(call.run, return_mode="median") * 1e3
        except ImportError:
            pass
    timer = torch.utils.benchmark.Timer("run()", globals={"run": call.run})
    return timer.timeit(count).median * 1e6


class HostTimer:
    """On the CPU, by its clock, its caches left as they are: to try arms with, not for records."""

    def cold(self, calls, count):
        samples = []
        for call in in_turn(calls, count):
            call.prepare()
            begin = time.perf_counter()
            call.run()
            samples.append((time.perf_counter() - begin) * 1e6)
        return samples

    def warm(self, calls, count):
        number = calls_of_a_sample(calls, self.cold(calls, 1)[0])
        samples = []
        for _ in range(count):
            begin = time.perf_counter()
            self.burst(calls, number)
            samples.append((time.perf_counter() - begin) * 1e6 / number)
        return samples

    def burst(self, calls, count):
        for call in in_turn(calls, count):
            call.run()
        leave_results(calls)

    synchronise = forget = staticmethod(nothing)


class CudaTimer:
    """By events, on a stream of its own, which is PyTorch's current one from then on: CUDA graphs
    are captured from no other."""

    LEAST_BUSY = 200.0
    MOST_BUSY = 200e3
    LEAST_FLUSH = 128 << 20  # bytes

    def __init__(self):
        self.stream = torch.cuda.Stream()
        torch.cuda.set_stream(self.stream)
        cache = torch.cuda.get_device_properties(0).L2_cache_size
        size = max(2 * cache, self.LEAST_FLUSH)
        self.cache_filler = torch.empty(size, dtype=torch.uint8, device="cuda")
        self.cycles = self._cycles_of_a_microsecond()
        self.forget()

    def _cycles_of_a_microsecond(self):
        """Of the busy kernel, at the clock of a GPU that is at work."""
        cycles = 10_000_000
        durations = []
        for _ in range(4):
            begin, end = self._events()
            begin.record()
            torch.cuda._sleep(cycles)
            end.record()
            end.synchronize()
            durations.append(begin.elapsed_time(end) * 1e3)
        return cycles / min(durations)

    def _events(self):
        return (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def forget(self):
        """Another stage or case comes."""
        self.number = 0  # calls of a warm sample; 0: not known yet
        self.graph = None  # of as many; None: it cannot be captured
        self.written = []  # what the graph writes: (call, outputs, gradients)
        self.busy = self.LEAST_BUSY

    def synchronise(self):
        torch.cuda.synchronize()

    def cold(self, calls, count):
        return [
            self._timed(call.prepare, self.cache_filler.zero_, call.run)
            for call in in_turn(calls, count)
        ]

    def _timed(self, prepare, before, function):
        """Only `function` is; the GPU is busy, then does `before`, while all of it is enqueued."""
        prepare()
        duration, enqueuing = self._queued(before, function)
        if self.busy < min(enqueuing, self.MOST_BUSY):
            # The GPU may have waited for the host: again, and from now on with more patience.
            self.busy = min(2 * enqueuing, self.MOST_BUSY)
            prepare()
            duration, _ = self._queued(before, function)
        return duration

    def _queued(self, before, function):
        """What it took the GPU, and what it took the host to enqueue it."""
        begin, end = self._events()
        torch.cuda._sleep(int(self.busy * self.cycles))
        before()
        start = time.perf_counter()
        begin.record()
        function()
        end.record()
        enqueuing = (time.perf_counter() - start) * 1e6
        end.synchronize()
        return begin.elapsed_time(end) * 1e3, enqueuing

    # ---- warm ----

    def warm(self, calls, count):
        self._settle(calls)
        samples = [
            self._timed(nothing, nothing, lambda: self._sample(calls)) / self.number
            for _ in range(count)
        ]
        leave_results(calls)
        return samples

    def burst(self, calls, count):
        self._settle(calls)
        for _ in range(count // self.number):
            self._sample(calls)
        for call in in_turn(calls, count % self.number):
            call.run()
        self.synchronise()
        leave_results(calls)

    def _settle(self, calls):
        """Chooses the number of calls of a sample, and captures them if they can be."""
        if self.number == 0:
            self.number = calls_of_a_sample(calls, statistics.median(self.cold(calls, 3)))
            self._capture(calls)

    def _capture(self, calls):
        for call in calls:
            call.prepare()
        self.synchronise()
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, stream=self.stream):
                for call in in_turn(calls, self.number):
                    call.run()
        except RuntimeError as error:
            print(f"not captured in a CUDA graph, warm calls are a loop: {error}", file=sys.stderr)
            self.synchronise()
            return
        self.graph = graph
        self.written = [(call, call.outputs, call.gradients) for call in calls]

    def _sample(self, calls):
        if self.graph is None:
            for call in in_turn(calls, self.number):
                call.run()
            return
        self.graph.replay()
        for call, outputs, gradients in self.written:
            call.outputs, call.gradients = outputs, gradients
