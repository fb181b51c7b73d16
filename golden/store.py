"""Golden files from Python: the schema of docs/golden-format.md, as golden/save.c writes it.

Only HDF5's own calls (h5py's low-level API): the high-level one leaves choices to its version.
"""

import hashlib
import os
import tempfile
from dataclasses import dataclass, field

import h5py
import numpy as np
from h5py import h5a, h5d, h5f, h5g, h5p, h5s, h5t

SCHEMA = 1
GROUPS = ("bound", "grad", "in", "out")
OPTIONAL = ("bound",)
DEFLATE = 9


@dataclass
class Case:
    """One golden case. `tensors` maps (group, name) to a float64 array."""

    text: str
    seed: int
    source: str
    foreign: bool
    library: str
    version: str
    tensors: dict = field(default_factory=dict)

    def seal(self):
        lines = [
            f"schema={SCHEMA}",
            f"case={self.text}",
            f"seed={self.seed}",
            f"source={self.source}",
            f"foreign={int(self.foreign)}",
            f"library={self.library}",
            f"version={self.version}",
        ]
        for group, name in sorted(self.tensors):
            lines.append(f"{group}/{name}={digest(self.tensors[group, name])}")
        return hashlib.sha256("".join(line + "\n" for line in lines).encode()).hexdigest()


def digest(tensor):
    shape = ",".join(str(n) for n in tensor.shape)
    data = np.ascontiguousarray(tensor, dtype="<f8").tobytes()
    return hashlib.sha256(f"f64[{shape}]\n".encode() + data).hexdigest()


# ---- writing ----


def _untimed(kind):
    properties = h5p.create(kind)
    properties.set_obj_track_times(False)
    return properties


def _access():
    properties = h5p.create(h5p.FILE_ACCESS)
    properties.set_libver_bounds(h5f.LIBVER_V110, h5f.LIBVER_V110)
    properties.set_fclose_degree(h5f.CLOSE_STRONG)
    return properties


def _put(target, name, stored, value):
    h5a.create(target, name.encode(), stored, h5s.create(h5s.SCALAR)).write(value)


def _put_text(target, name, text):
    data = text.encode("ascii")
    stored = h5t.C_S1.copy()
    stored.set_size(max(len(data), 1))
    stored.set_strpad(h5t.STR_NULLPAD)
    _put(target, name, stored, np.array(data, dtype=f"S{max(len(data), 1)}"))


def _put_int(target, name, value):
    _put(target, name, h5t.STD_I32LE, np.array(value, dtype="<i4"))


def _put_seed(target, value):
    _put(target, "seed", h5t.STD_U64LE, np.array(value, dtype="<u8"))


def _put_tensor(group, name, tensor):
    tensor = np.asarray(tensor, dtype="<f8", order="C")
    properties = _untimed(h5p.DATASET_CREATE)
    if tensor.ndim > 0 and tensor.size > 0:
        properties.set_chunk(tensor.shape)
        properties.set_shuffle()
        properties.set_deflate(DEFLATE)
    space = h5s.create_simple(tensor.shape)
    dataset = h5d.create(group, name.encode(), h5t.IEEE_F64LE, space, properties)
    _put_text(dataset, "sha256", digest(tensor))
    dataset.write(h5s.ALL, h5s.ALL, tensor)


def _put_case(file, case):
    top = h5g.create(file, case.text.encode(), gcpl=_untimed(h5p.GROUP_CREATE))
    for group in GROUPS:
        names = sorted(name for where, name in case.tensors if where == group)
        if not names and group in OPTIONAL:
            continue
        child = h5g.create(top, group.encode(), gcpl=_untimed(h5p.GROUP_CREATE))
        for name in names:
            _put_tensor(child, name, case.tensors[group, name])
    _put_int(top, "schema", SCHEMA)
    _put_text(top, "case", case.text)
    _put_seed(top, case.seed)
    _put_text(top, "source", case.source)
    _put_int(top, "foreign", int(case.foreign))
    _put_text(top, "library", case.library)
    _put_text(top, "version", case.version)
    _put_text(top, "sha256", case.seal())


def _write(path, cases):
    file = h5f.create(
        os.fsencode(path), h5f.ACC_TRUNC, fcpl=_untimed(h5p.FILE_CREATE), fapl=_access()
    )
    for text in sorted(cases):
        _put_case(file, cases[text])
    file.close()


# ---- reading ----


def _text(attributes, name):
    return bytes(attributes[name]).decode("ascii")


def read(path):
    """All cases of a file by their text; {} when there is no file. Damage raises ValueError."""
    cases = {}
    if not os.path.exists(path):
        return cases
    with h5py.File(path, "r") as file:
        for text, top in file.items():
            attributes = top.attrs
            case = Case(
                text=text,
                seed=int(attributes["seed"]),
                source=_text(attributes, "source"),
                foreign=bool(attributes["foreign"]),
                library=_text(attributes, "library"),
                version=_text(attributes, "version"),
            )
            for group in GROUPS:
                for name, dataset in top.get(group, {}).items():
                    case.tensors[group, name] = dataset[()]
            if case.seal() != _text(attributes, "sha256"):
                raise ValueError(f"{path}: {text}: damaged; restore it from version control")
            cases[text] = case
    return cases


# ---- adding ----


def _list_digest(path):
    """Keeps SHA256SUMS beside the file true, if there is one."""
    folder, name = os.path.split(path)
    sums = os.path.join(folder, "SHA256SUMS")
    if not os.path.exists(sums):
        return
    with open(sums, encoding="ascii") as file:
        digests = {line[66:-1]: line[:64] for line in file}
    with open(path, "rb") as file:
        digests[name] = hashlib.sha256(file.read()).hexdigest()
    temporary = sums + ".tmp"
    with open(temporary, "w", encoding="ascii") as file:
        file.writelines(f"{digests[name]}  {name}\n" for name in sorted(digests))
    os.replace(temporary, sums)


def add(path, cases):
    """Adds or replaces cases; all others stay. The file is replaced as a whole, or not at all."""
    merged = read(path)
    merged.update((case.text, case) for case in cases)
    descriptor, temporary = tempfile.mkstemp(
        prefix=os.path.basename(path) + ".", suffix=".tmp", dir=os.path.dirname(path) or "."
    )
    try:
        mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o644
        os.fchmod(descriptor, mode)
        _write(temporary, merged)
        if {t: c.seal() for t, c in read(temporary).items()} != {
            t: c.seal() for t, c in merged.items()
        }:
            raise ValueError(f"{path}: read back other than it was written")
        os.fsync(descriptor)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    finally:
        os.close(descriptor)
    _list_digest(path)
