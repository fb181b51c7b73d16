"""gpu_test.py ASSAY [KIND...]: Python functions on a GPU, a line for each form as soon as it is judged: PyTorch,
Triton, an extension, JAX and CuPy where they are, right and wrong; `other`: what is judged with nothing beside it,
and times. 77: there is no GPU, or no PyTorch."""
import concurrent.futures
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ASSAY = os.path.abspath(sys.argv[1])
os.environ.update(ASSAY=ASSAY, ASSAY_PYTHON=sys.executable, OMP_NUM_THREADS="1")
sys.path[:0] = [os.path.abspath(f"{HERE}/../../python"), HERE]

import assay  # noqa: E402

START = time.monotonic()
RIGHT = {"y": "pass", "dx": "pass", "dw": "pass"}
CASES = "n=5x7 d=33 pad=0,3 dtype=f32,f64"

# FILE.py:FUNCTION, cases, and what is said: the verdict of each tensor, or a part of an error's line.
FORMS = {
    "torch": [
        ("torch_functions.py:weighted_sum", CASES, RIGHT),
        ("torch_functions.py:wrong_gradient", CASES, {**RIGHT, "dx": "fail"}),
        ("torch_functions.py:forward_only", CASES, {"y": "pass"}),
        ("torch_functions.py:on_the_host", CASES, "y lies on cpu, and its inputs do not"),
    ],
    "triton": [
        ("triton_functions.py:weighted_sum", "n=5x7 d=33,64 pad=0,3 dtype=f32,bf16", RIGHT),
        ("triton_functions.py:unmasked", "n=5x7 d=33 dtype=f32", {"y": "fail"}),
        ("triton_functions.py:packed", "n=5x7 d=33 pad=3 dtype=f32", {"y": "fail"}),
        ("triton_functions.py:no_cotangent", "n=5x7 d=33 dtype=f32", {**RIGHT, "dw": "fail"}),
    ],
    "jax": [
        ("jax_functions.py:weighted_sum", CASES, RIGHT),
        ("jax_functions.py:wrong_gradient", CASES, {**RIGHT, "dw": "fail"}),
    ],
    "cupy": [
        ("cupy_functions.py:weighted_sum", CASES, {"y": "pass"}),
        ("cupy_functions.py:wrong_end", CASES, {"y": "fail"}),
    ],
    "numpy": [("functions.py:weighted_sum", CASES, "NumPy has no arrays on a GPU: --device sim")],
    "extension": [
        ("torch_extension.py:weighted_sum,weighted_sum_backward", "n=5 d=32,33 pad=0,3 dtype=f32", RIGHT),
        ("torch_extension.py:packed", "n=5 d=33 pad=3 dtype=f32", {"y": "fail"}),
        ("torch_extension.py:no_tail", "n=5 d=33 dtype=f32", {"y": "fail"}),
        ("torch_extension.py:weighted_sum,no_cotangent", "n=5 d=33 dtype=f32", {**RIGHT, "dw": "fail"}),
    ],
}
# Alone: work on another stream comes before the inputs do. The first call may wait while PyTorch loads its kernels.
ALONE = [("torch_functions.py:other_stream", "n=64 d=1024,1025 dtype=f32", {"y": "fail", "dx": "pass", "dw": "pass"})]
KINDS = sys.argv[2:] or [*FORMS, "other"]
NEEDS = {"torch": "torch", "triton": "triton", "extension": "torch", "jax": "jax", "cupy": "cupy", "numpy": "numpy"}


def have(module):
    return importlib.util.find_spec(module) is not None


def seen(report):
    """The worst verdict of each tensor; where a tensor has none, the first line of an error or a skip."""
    worst = {}
    for result in report.results:
        if result.tensor is None or result.verdict not in ("pass", "fail"):
            return f"{result.verdict}: {result.reason}"
        if worst.get(result.tensor) != "fail":
            worst[result.tensor] = result.verdict
    return worst


def judge(kernel, cases):
    """Again where other tests had the GPU's memory for a moment."""
    start = time.monotonic()
    for patience in 5, 15, 0:
        try:
            said = seen(assay.check("weighted_sum", kernel, cases=cases, device="cuda", time_limit=240))
        except assay.AssayError as error:
            said = str(error)
        if "out of memory" not in str(said):
            break
        time.sleep(patience)
    return said, time.monotonic() - start


def judge_race(kernel, cases, want):
    """Again where it is not seen: the GPU waits for milliseconds at most before it takes the inputs, and on a busy
    host the other stream's work may come later than that."""
    for _ in range(3):
        said, seconds = judge(kernel, cases)
        if said == want:
            break
    return said, seconds


def build(folder):
    """The extension, whose kernel and whose calls two compilers make."""
    shutil.copy(f"{HERE}/torch_extension.py", folder)
    os.chmod(folder, 0o755)
    done = subprocess.run([sys.executable, "torch_extension.py", "cuda"], cwd=folder, capture_output=True, text=True)
    print(f"{time.monotonic() - START:5.1f} s  the extension is built, status {done.returncode}", flush=True)
    return done.stderr if done.returncode != 0 else ""


def wait_for(ahead, folder, kernel, cases):
    """Judges when the extension is there."""
    failed = ahead.result()
    return (failed, 0) if failed else judge(f"{folder}/{kernel}", cases)


def timed(name):
    """The statuses of a function's rows when it is timed on the GPU, and what is said of each row."""
    try:
        found = assay.bench("weighted_sum", f"{HERE}/torch_functions.py:{name}", cases="n=1024 d=1024", dtype="f32",
                            device="cuda", peers="none", samples=10)
    except assay.AssayError as error:
        return set(), str(error)
    said = [f"{row.median_us:.1f} us" if row.status == "ok" else f"{row.stage} {row.cache} {row.status}: {row.reason}"
            for row in found.own]
    return {row.status for row in found.own}, "; ".join(said)


def times():
    """Whether every row of a function is timed on the GPU, and every row of a wrong one refused. Again
    where the clock outside has seen other tests on the GPU, or these had its memory."""
    right = True
    for name, want in ("weighted_sum", "ok"), ("wrong_gradient", "refused"):
        start = time.monotonic()
        for patience in 10, 20, 30, 0:
            statuses, said = timed(name)
            if "the clock outside of it" not in said and "out of memory" not in said:
                break
            time.sleep(patience)
        right = right and statuses == {want}
        print(f"{time.monotonic() - START:5.1f} s  bench of torch_functions.py:{name}: {said} "
              f"({time.monotonic() - start:.1f} s)", flush=True)
    return right


def missing():
    if not have("torch"):
        return "no PyTorch"
    probe = [sys.executable, "-c", "import sys, torch; sys.exit(not torch.cuda.is_available())"]
    if subprocess.run(probe, capture_output=True).returncode != 0:
        return "no GPU that PyTorch sees"
    return ""


def is_here(kind):
    here = have(NEEDS[kind]) and (kind != "extension" or (shutil.which("nvcc") and shutil.which("ninja")))
    if not here:
        print(f"         {kind}: not here, and left out", flush=True)
    return here


def start_all(pool, folder):
    """A future of each form that can run here, and the form. The extension is built meanwhile."""
    kinds = [kind for kind in FORMS if kind in KINDS and is_here(kind)]
    ahead = pool.submit(build, folder) if "extension" in kinds else None
    jobs = {}
    for kind in kinds:
        for form in FORMS[kind]:
            kernel, cases, _ = form
            if kind == "extension":
                job = pool.submit(wait_for, ahead, folder, kernel, cases)
            else:
                job = pool.submit(judge, f"{HERE}/{kernel}", cases)
            jobs[job] = form
    return jobs


def is_right(form, said, seconds):
    kernel, _, want = form
    right = want in said if isinstance(want, str) else said == want
    word = "as it must" if right else f"WRONG, must be {want}"
    print(f"{time.monotonic() - START:5.1f} s  {kernel}: {said}: {word} ({seconds:.1f} s)", flush=True)
    return right


def main():
    why = missing()
    if why:
        print(why)
        return 1 if os.environ.get("ASSAY_REQUIRE_GPU") == "1" and why != "no PyTorch" else 77
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(8) as pool:
        jobs = start_all(pool, folder)
        right = [is_right(jobs[job], *job.result()) for job in concurrent.futures.as_completed(jobs)]
    if "other" in KINDS:
        right += [is_right(form, *judge_race(f"{HERE}/{form[0]}", *form[1:])) for form in ALONE]
        right.append(times())
    print(f"{time.monotonic() - START:5.1f} s  {len(right)} forms, {right.count(False)} wrong")
    if not right:
        return 77
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
