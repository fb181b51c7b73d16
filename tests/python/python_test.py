"""python_test.py ASSAY [CLASS]: Python functions are judged as kernels are, from Python, by pytest and
from the shell. JAX and PyTorch are used where they can be imported. 77: nothing could run."""
import concurrent.futures
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(HERE, "..", "..", "python")
ASSAY = os.path.abspath(sys.argv.pop(1))
os.environ.update(ASSAY=ASSAY, OMP_NUM_THREADS="1", ASSAY_TEST_SECRET=f"{HERE}/../../README.md")
os.environ.pop("ASSAY_PYTHON", None)
sys.path[:0] = [os.path.abspath(PACKAGE), HERE]
os.chdir(HERE)

import assay  # noqa: E402
import functions  # noqa: E402

# What is said of each, in a case of its own.
SAID = {
    "wrong_eps": ("fail", "elements beyond their bound"),
    "wrong_axis": ("fail", "elements beyond their bound"),
    "wrong_dtype": ("error", "forward: y is float64, and must be float32"),
    "wrong_shape": ("error", "forward: y has the shape (5, 7, 32), and must have (5, 7, 33)"),
    "too_many": ("error", "forward: too_many returned 2 results where 1 are wanted: y"),
    "nothing": ("error", "forward: nothing returned 0 results where 1 are wanted: y"),
    "generates": ("error", "forward: y is a generator, and must be an array"),
    "raises": ("error", "forward: ValueError: no such luck (functions.py, line"),
    "mutates": ("error", "forward: changed its input x"),
    "loops": ("error", "no answer after 2 s"),
    "leaves": ("error", "ended with exit code 0 before it was done"),
    "crashes": ("error", "its process ended by signal 11"),
    "stale": ("fail", "elements beyond their bound"),
    "by_address": ("fail", "elements beyond their bound"),
    "unknown": ("skip", "unknown(x, weight, eps): weight is not in this case, which has x w y n d residual eps"),
    "writes": ("pass", ""),
    "writes_half": ("fail", "got nan"),
    "reads_files": ("error", "forward: FileNotFoundError"),
    "starts_network": ("error", "forward: PermissionError"),
}


def have(*modules):
    return all(importlib.util.find_spec(m) for m in modules)


def words(*args, env=None):
    done = subprocess.run(args, capture_output=True, text=True, env={**os.environ, **(env or {})})
    return done.returncode, done.stdout + done.stderr


class Functions(unittest.TestCase):
    def say(self, name):
        return assay.check("rmsnorm", getattr(functions, name), cases="n=5x7 d=33", stage="forward",
                           device="sim", time_limit=2 if name == "loops" else None)

    def test_wrong_ones_get_a_line(self):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            reports = dict(zip(SAID, pool.map(self.say, SAID)))
        for name, (verdict, said) in SAID.items():
            result = next((r for r in reports[name].results if r.verdict == verdict), None)
            with self.subTest(name, all=[(r.verdict, r.reason) for r in reports[name].results]):
                self.assertIsNotNone(result)
                self.assertEqual(bool(reports[name]), verdict == "pass")
                self.assertIn(said, result.reason or "")
                self.assertNotIn("\n", result.reason or "")

    def test_a_right_one_passes_in_all_dtypes(self):
        report = assay.check("rmsnorm", functions.rmsnorm, device="sim")
        self.assertTrue(report, report)
        self.assertTrue(report.forward_only)
        self.assertIn("forward only: rmsnorm has no backward: NumPy has no gradients", report.note)
        ran = {c.text.split("dtype=")[1].split()[0] for c in report.of("pass")}
        self.assertEqual(ran, {"f32", "f64", "bf16"} if have("ml_dtypes") else {"f32", "f64"})

    def test_a_second_function_is_the_backward(self):
        case = {"cases": "n=5x7 d=33 dtype=f32,f64", "device": "sim"}
        report = assay.check("weighted_sum", functions.weighted_sum, **case)
        self.assertTrue(report, report)
        self.assertFalse(report.forward_only)
        self.assertEqual({r.tensor for r in report.results}, {"y", "dx", "dw"})
        report = assay.check("weighted_sum", functions.by_position,
                             backward=functions.weighted_sum_backward, **case)
        self.assertTrue(report, report)
        report = assay.check("weighted_sum", functions.wrong_gradient, **case)
        self.assertEqual({r.tensor: r.verdict for r in report.results}, {"y": "pass", "dx": "fail", "dw": "pass"})
        self.assertIn("functions.py:wrong_gradient", str(report))

    def test_cases(self):
        texts = assay.cases("rmsnorm", dtype="bf16")
        self.assertTrue(texts and all(" dtype=bf16 " in t for t in texts))
        report = assay.check("weighted_sum", functions.weighted_sum, dtype="f64", device="sim",
                             cases=assay.cases("weighted_sum", "n=5x7 d=33,34 dtype=f32,f64"))
        self.assertEqual([c.text.split()[2] for c in report.cases], ["d=33", "d=34"])

    def test_fuzz(self):
        right, text = assay.fuzz("weighted_sum", functions.wrong_gradient, cases=8, device="sim",
                                 words=["dtype=f32"])
        self.assertFalse(right, text)
        self.assertIn("functions.py:wrong_gradient", text)

    def test_bench(self):
        case = {"cases": "n=64 d=128", "device": "sim", "samples": 5}
        for _ in range(5):  # where others take the processors, the clock outside is right to complain
            times = assay.bench("weighted_sum", functions.weighted_sum, dtype="f32", **case)
            if not any("the clock outside of it" in r.reason for r in times.own):
                break
        self.assertTrue(times, times)
        self.assertEqual({(r.stage, r.cache, r.status) for r in times.own},
                         {(s, c, "ok") for s in ("forward", "backward") for c in ("cold", "warm")})
        self.assertIn("NumPy", times.own[0].versions)
        for row in times.own:  # each was compared with the oracle, and took some time
            self.assertGreater(row.verified, 0)
            self.assertGreater(row.median_us, 1)

    def test_bench_refuses_what_is_not_right(self):
        case = {"device": "sim", "dtype": "f32", "cases": "n=64 d=1000"}
        for function, said in [(functions.wrong_gradient, "elements beyond their bound"),
                               (functions.stale, "not proven"),
                               (functions.small_only, "elements beyond their bound")]:
            op, stage = ("rmsnorm", "forward") if function is functions.stale else ("weighted_sum", None)
            stage = "forward" if function is functions.small_only else stage
            times = assay.bench(op, function, stage=stage, **case)
            with self.subTest(function.__name__, times=repr(times)):
                self.assertFalse(times)
                self.assertEqual({r.status for r in times.own}, {"refused"})
                self.assertIn(said, times.own[0].reason)
        with self.assertRaisesRegex(assay.AssayError, "no GPU to time on|NumPy has no arrays on a GPU"):
            if assay.bench("weighted_sum", functions.weighted_sum, cases="n=64 d=128", dtype="f32", peers="none").own[0].status == "unavailable":
                raise assay.AssayError("NumPy has no arrays on a GPU")

    def test_a_clock_is_not_believed(self):
        times = assay.bench("weighted_sum", functions.short_clock, cases="n=256 d=4096 dtype=f32", device="sim",
                            stage="forward")
        self.assertEqual({r.status for r in times.own}, {"error"}, repr(times))
        self.assertIn("the clock outside of it", times.own[0].reason)

    def test_what_is_no_function_of_a_file(self):
        for function in (lambda x, w: x, len):
            with self.assertRaisesRegex(assay.AssayError, "top of a .py file"):
                assay.check("weighted_sum", function)
        with self.assertRaisesRegex(assay.AssayError, "must be one of f64, f32, bf16, f16"):
            assay.check("weighted_sum", functions.weighted_sum, dtype="fp32")
        with self.assertRaisesRegex(assay.AssayError, "unknown operator"):
            assay.check("weighted", functions.weighted_sum)

    def test_a_script_that_calls_assay(self):
        code, text = words(sys.executable, "calling.py", env={"PYTHONPATH": PACKAGE})
        self.assertEqual(code, 0, text)
        self.assertIn("1 passed, 0 failed", text)


@unittest.skipUnless(have("jax"), "JAX is not here")
class Jax(unittest.TestCase):
    def test_derives_the_backward(self):
        import jax_functions

        case = {"cases": "n=5x7 d=33 pad=0,3 dtype=f32,f64", "device": "sim"}
        report = assay.check("weighted_sum", jax_functions.weighted_sum, **case)
        self.assertTrue(report, report)
        self.assertEqual({r.tensor for r in report.results}, {"y", "dx", "dw"})
        report = assay.check("weighted_sum", jax_functions.other_names, **case)
        self.assertTrue(report, report)
        self.assertFalse(report.forward_only)
        report = assay.check("weighted_sum", jax_functions.wrong_gradient, cases="n=5x7 d=33", device="sim")
        self.assertEqual({r.tensor: r.verdict for r in report.results}, {"y": "pass", "dx": "pass", "dw": "fail"})


@unittest.skipUnless(have("torch", "numpy"), "PyTorch is not here")
class Torch(unittest.TestCase):
    def test_derives_the_backward(self):
        import torch_functions

        case = {"cases": "n=5x7 d=33 pad=0,3 dtype=f32,f64", "device": "sim"}
        report = assay.check("weighted_sum", torch_functions.weighted_sum, **case)
        self.assertTrue(report, report)
        self.assertEqual({r.tensor for r in report.results}, {"y", "dx", "dw"})
        report = assay.check("weighted_sum", torch_functions.wrong_gradient, cases="n=5x7 d=33", device="sim")
        self.assertEqual({r.tensor: r.verdict for r in report.results}, {"y": "pass", "dx": "fail", "dw": "pass"})
        report = assay.check("weighted_sum", torch_functions.other_names, **case)
        self.assertTrue(report, report)
        self.assertFalse(report.forward_only)
        report = assay.check("weighted_sum", torch_functions.forward_only, cases="n=5x7 d=33", device="sim")
        self.assertTrue(report.forward_only)
        self.assertIn("torch.autograd does not see what it does", report.note)


@unittest.skipUnless(have("torch", "numpy") and shutil.which("ninja"), "PyTorch, or ninja, which it builds with, is not here")
class Extension(unittest.TestCase):
    """In C++; gpu_test.py has it in CUDA."""

    def check(self, folder, functions):
        kernel = os.path.join(folder, f"torch_extension.py:{functions}")
        return words(ASSAY, "check", "weighted_sum/mine", "--kernel", kernel, "--device", "sim", "n=5", "d=32,33",
                     "pad=0,3", "dtype=f32", env={"ASSAY_PYTHON": sys.executable})

    def test_of_cpp(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy("torch_extension.py", folder)
            built = subprocess.run([sys.executable, "torch_extension.py"], cwd=folder, capture_output=True, text=True)
            self.assertEqual(built.returncode, 0, built.stderr)
            os.chmod(folder, 0o755)
            said = {"weighted_sum,weighted_sum_backward": (0, "4 passed"), "packed": (1, "2 failed"),
                    "no_tail": (1, "2 failed"), "weighted_sum,no_cotangent": (1, "4 failed")}
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                got = list(pool.map(lambda functions: self.check(folder, functions), said))
            for (functions, (code, part)), (status, text) in zip(said.items(), got):
                with self.subTest(functions):
                    self.assertEqual((status, part in text), (code, True), text)


class Reference(unittest.TestCase):
    def judge(self, file, names, *args):
        text = [f"{file}.py:{name}" for name in names]
        check = lambda t: words(ASSAY, "check", "--device", "sim", "--reference", f"{file}.py", "--kernel", t, *args,  # noqa: E731
                                env={"ASSAY_PYTHON": sys.executable})
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            return dict(zip(names, pool.map(check, text)))

    def test_numpy(self):
        said = self.judge("softmax_reference", ["right", "dropped", "approximate", "stale"])
        self.assertEqual({n: s[0] for n, s in said.items()}, {"right": 0, "dropped": 1, "approximate": 1, "stale": 1}, said)
        self.assertIn("2 passed", said["right"][1])
        self.assertIn("4 times the spread of 20 runs", said["dropped"][1])
        self.assertIn("softmax_reference/candidate dtype=f32 seed=0 --device sim --kernel softmax_reference.py:dropped "
                      "--reference softmax_reference.py", said["dropped"][1])
        said = self.judge("softmax_reference", ["right"], "dtype=f16", "own=0,1")
        self.assertEqual(said["right"][0], 0, said)

    def test_inputs_may_have_the_names_of_results(self):
        said = self.judge("loss_reference", ["right", "half"], "dtype=f32")
        self.assertEqual([s[0] for s in said.values()], [0, 1], said)
        self.assertIn("candidate out", said["half"][1])

    def test_indices_and_bad_ones(self):
        said = self.judge("index_reference", ["candidate", "off_by_one"], "dtype=f32")
        self.assertEqual([s[0] for s in said.values()], [0, 1], said)
        # An index is compared, unless it moves with the last bits of the inputs.
        for name, of, verdict in [("last_largest", "largest", " passed, 0 failed, 0 mistrusted, 0 errors"), ("second", "largest", "0 passed, "),
                                  ("last_largest", "ties", "last bits of the inputs")]:
            code, text = words(ASSAY, "check", "--device", "sim", "--reference", f"index_reference.py:{of}", "--kernel",
                               f"index_reference.py:{name}", "dtype=f32", env={"ASSAY_PYTHON": sys.executable})
            with self.subTest(name, of=of, text=text):
                self.assertIn(verdict, text)
        for line, args in [
            ("numpy.svd: how it rounds is not known here", ["index_reference.py:unknown"]),
            ("numpy.multiply: complex numbers are not followed", ["loss_reference.py:wave"]),
            ("index_reference.py has no nope", ["index_reference.py:nope"]),
            ("functions.py has no get_inputs()", ["functions.py:rmsnorm"]),
            ("gone.py", ["gone.py"]),
            ("must be FILE.py or FILE.py:NAME", ["functions.so"]),
        ]:
            code, text = words(ASSAY, "check", "--device", "sim", "--kernel", "functions.py", "--reference", *args,
                               env={"ASSAY_PYTHON": sys.executable})
            with self.subTest(line, text=text):
                self.assertIn(code, (2, 3))
                self.assertEqual(len(text.splitlines()), 1)
                self.assertIn(line, text)

    def test_no_numpy(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/numpy.py", "w", encoding="utf-8") as to:
                to.write("raise ImportError('No module named numpy')\n")
            code, text = words(ASSAY, "check", "--kernel", "functions.py", "--reference", "softmax_reference.py",
                               env={"ASSAY_PYTHON": sys.executable, "PYTHONPATH": folder})
        self.assertEqual((code, len(text.splitlines())), (3, 1), text)
        self.assertIn("No module named numpy; a reference needs NumPy", text)

    def test_from_python(self):
        import softmax_reference

        report = assay.check(None, softmax_reference.right, reference=softmax_reference.reference, cases="dtype=f32", device="sim")
        self.assertTrue(report, report)
        self.assertFalse(assay.check(None, softmax_reference.dropped, reference="softmax_reference.py", device="sim"))

    @unittest.skipUnless(have("torch"), "PyTorch is not here")
    def test_a_model_of_torch(self):
        said = self.judge("torch_reference", ["ModelNew", "OtherEps"], "dtype=f32")
        self.assertEqual([s[0] for s in said.values()], [0, 1], said)
        self.assertIn("dnorm_weight", said["OtherEps"][1])

    @unittest.skipUnless(have("torch"), "PyTorch is not here")
    def test_indices_of_torch(self):
        for name, code in ("by_sorting", 0), ("second", 1):
            got, text = words(ASSAY, "check", "--device", "sim", "--reference", "torch_reference.py:largest", "--kernel",
                              f"torch_reference.py:{name}", "dtype=f32", env={"ASSAY_PYTHON": sys.executable})
            self.assertEqual(got, code, text)


@unittest.skipUnless(have("pytest"), "pytest is not here")
class Pytest(unittest.TestCase):
    def pytest(self, *flags):
        env = {"PYTHONPATH": PACKAGE}
        return words(sys.executable, "-m", "pytest", "-p", "assay.pytest_plugin", "-p", "no:xdist", "judged.py",
                     "-q", "-o", f"cache_dir={self.cache}", *flags, env=env)

    def test_a_test_a_case(self):
        with tempfile.TemporaryDirectory() as self.cache:
            code, text = self.pytest()
            self.assertEqual(code, 1, text)
            self.assertIn("3 failed, 2 passed", text)
            self.assertIn("reproduce: assay check weighted_sum/wrong n=5x7 d=34 dtype=f32", text)
            _, text = self.pytest("--lf")
            self.assertIn("3 failed, 2 deselected", text)
            _, text = self.pytest("-k", "right")
            self.assertIn("2 passed, 3 deselected", text)
            _, text = self.pytest("--collect-only")
            self.assertIn("judged.py::wrong[n=5x7 d=35 dtype=f32 seed=0]", text)


class Shell(unittest.TestCase):
    def check(self, *args):
        return words(ASSAY, "check", "--device", "sim", *args, env={"ASSAY_PYTHON": sys.executable})

    def test_bad_words_get_a_line(self):
        for status, said, args in [
            (2, "functions.py has no function nope", ["--kernel", "functions.py:nope"]),
            (3, "gone.py: No such file", ["--kernel", "gone.py:f"]),
            (2, "--certify: a certificate names the bytes", ["--kernel", "functions.py", "--certify"]),
            (2, "--binding: the parameters", ["--kernel", "functions.py", "--binding", "functions.py"]),
            (3, "gone.txt: no such file", ["--kernel", "functions.py:weighted_sum", "--case-file", "gone.txt"]),
        ]:
            code, text = self.check("weighted_sum/mine", *args)
            with self.subTest(said, text=text):
                self.assertEqual(code, status)
                self.assertEqual(len(text.splitlines()), 1)
                self.assertIn(said, text)

    def test_a_file_that_is_broken(self):
        broken = {
            "import numpy\nimport no_such_module\n": "No module named 'no_such_module' (broken.py, line 2)",
            "def f(x)\n": "SyntaxError: expected ':' (broken.py, line 1)",
            "import sys\nsys.exit(0)\n": "SystemExit: 0 (broken.py, line 2)",
            "import os\nos._exit(0)\n": "its process ended with exit code 0 before it was done",
            "while True:\n    pass\n": "no answer after 2 s; --time-limit gives it longer",
        }
        with tempfile.TemporaryDirectory() as folder:
            for source, said in broken.items():
                with open(f"{folder}/broken.py", "w", encoding="utf-8") as to:
                    to.write(source)
                for stage in [], ["--stage", "forward"]:
                    code, text = self.check("weighted_sum/mine", "--kernel", f"{folder}/broken.py:f",
                                            "--time-limit", "2", *stage)
                    with self.subTest(source, stage=stage, text=text):
                        self.assertEqual(code, 3)
                        self.assertEqual(len(text.splitlines()), 1)
                        self.assertIn(f"{folder}/broken.py:f: ", text)
                        self.assertIn(said, text)
        code, text = words(ASSAY, "check", "weighted_sum/mine", "--device", "sim", "--kernel", "functions.py",
                           env={"ASSAY_PYTHON": "/no/python"})
        self.assertEqual(code, 3)
        self.assertIn("/no/python, Python's interpreter, cannot be started", text)

    def test_what_kernel_files_and_modules_call_is_there(self):
        import ctypes

        library = ctypes.CDLL(os.path.join(os.path.dirname(ASSAY), "..", "engine", "libassay_python.so"))
        for name in ("assay_params_find", "assay_params_int", "assay_dtype_name", "assay_dtype_size",
                     "assay_stage_name", "assay_fail_as", "assay_error", "assay_place"):
            self.assertTrue(hasattr(library, name), name)

    def test_walls_stand(self):
        code, text = self.check("weighted_sum/mine", "--kernel", "functions.py", "n=5x7", "d=33", "--json", "-")
        self.assertEqual(code, 0, text)
        self.assertIn("mount network ipc", text)
        self.assertIn("seccomp privileges limits", text)

    @unittest.skipUnless(sys.prefix == "/usr", "this interpreter may not be readable by nobody")
    def test_walls_are_those_of_any_kernel(self):
        case = ["n=5x7", "d=33", "--json", "-"]
        texts = [self.check("weighted_sum/v1", *case)[1], self.check("weighted_sum/mine", "--kernel", "functions.py", *case)[1]]
        own, python = [next(line for line in t.splitlines() if '"sandbox"' in line).split('"sandbox": ')[1] for t in texts]
        self.assertEqual(own, python)


if __name__ == "__main__":
    ran = unittest.main(verbosity=2, exit=False).result  # a line before each test: some take half a minute
    sys.exit(1 if not ran.wasSuccessful() else 77 if ran.testsRun == len(ran.skipped) else 0)
