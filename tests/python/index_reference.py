"""A reference with indices, and one whose step is not known."""
import numpy as np


def reference(table, index):
    return table[index] * 2


def get_inputs():
    return [np.random.randn(11, 9), np.random.randint(0, 11, 5)]


def candidate(table, index):
    return table[index] + table[index]


def off_by_one(table, index):
    return table[np.minimum(index + 1, 10)] * 2


def unknown(table, index):
    return np.linalg.svd(table)[1]


def two(table, index):
    return table, index


def ties(table, index):
    """Of whole numbers the largest is there more than once."""
    return np.argmax(np.rint(table), -1), table[index]


def largest(table, index):
    return np.argmax(table, -1), table[index]


def last_largest(table, index):
    return table.shape[-1] - 1 - np.argmax(table[:, ::-1], -1), table[index]


def second(table, index):
    return np.argsort(table, -1)[:, -2], table[index]
