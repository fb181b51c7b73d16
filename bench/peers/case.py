"""A case, from its canonical text: the operator's name, then key=value words."""


class Case:
    def __init__(self, text):
        if not text.strip():
            raise ValueError("a case begins with its operator's name")
        self.text = text
        self.operator, *words = text.split()
        self.words = dict(word.split("=", 1) for word in words)
        self.dtype = self.words.get("dtype", "f32")
        self.tf32 = self.words.get("math") == "tf32"
        self.device = "cpu"  # or "cuda"

    def integer(self, key, default=0):
        return int(self.words.get(key, default))

    def real(self, key, default):
        return float(self.words.get(key, default))

    def extents(self, key):
        """A list joined by `x`; `none` is the empty one."""
        text = self.words[key]
        return [] if text == "none" else [int(extent) for extent in text.split("x")]
