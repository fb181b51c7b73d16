#!/usr/bin/env python3
"""The lemmas of docs/lemmas.md at their worst cases, in exact rational arithmetic: each bound holds,
and each is nearly reached, so that none of its constants could be smaller.

    lemmas.py [LEMMA...]    prints error / bound; exit status 1: a bound is exceeded, or far too wide
"""
import itertools
import sys
from fractions import Fraction as Q
from math import factorial, isqrt

WALK = 4  # standard deviations are 1/sqrt(3) of a rounding: 4 are 6.9 of those
CUT = Q(1, 2)  # what an addend of the tensor core loses, in u M
TRUNCATED = 2  # what its sum loses
ETA = Q(1, 2)  # what a product that is subnormal loses, in the smallest subnormal

failures = 0


def expect(name, ratio, least):
    global failures
    ok = least <= ratio <= 1
    failures += not ok
    print(f"{name}: error / bound {float(ratio):.3g}{'' if ok else f', not in [{least}, 1]'}")


def grid_of(x, bits, lowest=None):
    """The unit in the last place of a float of so many bits next to x."""
    e = 0
    while x and abs(x) >= Q(2) ** (e + 1):
        e += 1
    while x and abs(x) < Q(2) ** e:
        e -= 1
    unit = Q(2) ** (e - bits + 1)
    return unit if lowest is None else max(unit, lowest)


def nearest(x, bits, lowest=None):
    g = grid_of(x, bits, lowest)
    return round(x / g) * g  # round() takes ties to even


def cut(x, g):
    return (abs(x) // g) * g * (1 if x > 0 else -1)


# 1. A sum in any order.


def trees(terms):
    """All ways to add terms, each as (computed, most roundings of a term)."""
    if len(terms) == 1:
        yield terms[0], 0
    for size in range(1, len(terms)):
        for left in itertools.combinations(range(len(terms)), size):
            if 0 not in left:
                continue
            right = [i for i in range(len(terms)) if i not in left]
            for a, h in trees([terms[i] for i in left]):
                for b, k in trees([terms[i] for i in right]):
                    yield nearest(a + b, BITS), max(h, k) + 1


BITS = 4
U = Q(1, 2**BITS)


def gamma(h):
    return h * U / (1 - h * U)


def sums_in_any_order():
    worst = Q(0)
    values = [Q(n, 8) for n in (-15, -9, -8, 1, 2, 3, 9, 11, 15)]
    for terms in itertools.combinations_with_replacement(values, 4):
        exact, size = sum(terms), sum(map(abs, terms))
        for computed, h in trees(list(terms)):
            worst = max(worst, abs(computed - exact) / (gamma(h) * size))
    expect("a sum in any order, 4 terms of 4 bits", worst, 0.1)
    bits, u = 24, Q(1, 2**24)
    terms, total = [Q(1)] + [u * (1 + Q(1, 2**20))] * 1000, Q(0)
    for x in terms:
        total = nearest(total + x, bits)
    h = len(terms)
    expect("a sum in any order, 1001 terms of fp32", abs(total - sum(terms)) / (h * u / (1 - h * u) * sum(terms)), 0.9)


# 2. The tensor core: s products and the sum are cut to 2^(E - 25), added, and rounded toward zero.


def tensor_core(total, products):
    addends = [total, *products]
    largest = max(grid_of(x, 1) for x in addends if x)
    exact = sum(cut(x, largest / 2**25) for x in addends)
    return cut(exact, grid_of(exact, 24)) if exact else exact


def tensor_cores():
    u = Q(1, 2**24)
    for s in (8, 16):
        k = 64
        just_below = Q(1, 2**25) * (1 - Q(1, 2**20))
        total, size = Q(1), 1 + k * just_below
        for _ in range(k // s):
            total = tensor_core(total, [just_below] * s)
        allowed = (CUT * k + TRUNCATED * (k // s)) * u * size
        expect(f"the tensor core in steps of {s}, addends that vanish", (1 + k * just_below - total) / allowed, 0.6)
    small = Q(1, 2**23) - Q(1, 2**25)
    lost = 1 + small - tensor_core(Q(1), [small])
    expect("the tensor core, the rounding of its sum", lost / (TRUNCATED * u * (1 + small)), 0.7)


# 3. Equal terms.


def equal_terms():
    """n equal terms err by n max_g |r_g| and by a unit where the sum enters another binade."""
    worst, bits = Q(0), 6
    for m in range(33, 64):
        x, total, crossings, unit = Q(m), Q(0), Q(0), Q(1)
        residuals = [Q(0)]
        for n in range(1, 200):
            total = nearest(total + x, bits)
            g = grid_of(total, bits)
            if g != unit:
                crossings, unit = crossings + g, g
            residuals.append(abs(g * round(x / g) - x))
            allowed = n * max(residuals) + crossings
            if allowed:
                worst = max(worst, abs(total - n * x) / allowed)
    expect("equal terms, 6 bits", worst, 0.5)


# 4. The walk: roundings that are uniform and independent.


def walk():
    """P(|sum| >= 4 sqrt(h)) <= 2 exp(-24): sinh(x) / x <= exp(x^2 / 6), term by term; and exactly."""
    if any(factorial(2 * k + 1) < 6**k * factorial(k) for k in range(200)):
        expect("the walk's moments", 2, 0)
    steps, worst = 8, Q(0)
    for h in (17, 32):
        ways = {0: 1}
        for _ in range(h):
            more = {}
            for at, count in ways.items():
                for step in range(-steps, steps + 1):
                    more[at + step] = more.get(at + step, 0) + count
            ways = more
        beyond = isqrt(WALK * WALK * steps * steps * h)
        tail = Q(sum(count for at, count in ways.items() if abs(at) > beyond), (2 * steps + 1) ** h)
        worst = max(worst, tail)
    expect("the walk, of 2 exp(-24)", worst / Q(755, 10**13), 0.01)


# 5. Softmax.


def softmax():
    """The error of an average under weights that are wrong, whatever the shift and the centre."""
    worst = Q(0)
    weights, values = [Q(5), Q(3), Q(1), Q(1, 7)], [Q(2), Q(-1), Q(1, 3), Q(9)]
    total = sum(weights)
    p = [w / total for w in weights]
    out = sum(a * b for a, b in zip(p, values))
    for errors in itertools.product((Q(-1, 9), Q(0), Q(1, 5)), repeat=4):
        for shift, centre in ((Q(1), Q(0)), (Q(3, 2), Q(7, 2))):
            wrong = [w * (1 + e) * shift for w, e in zip(weights, errors)]
            got = sum(a * b for a, b in zip(wrong, values)) / sum(wrong)
            E = sum(a * e for a, e in zip(p, errors))
            said = sum(a * (v - centre) * e for a, v, e in zip(p, values, errors)) - (out - centre) * E
            worst = max(worst, abs(got - out - said / (1 + E)))
    expect("softmax's identity, 1 + what is left", 1 + worst, 1)


# 6. Underflow.


def underflow():
    """A product loses u of itself, or half of the smallest subnormal; a sum of floats never that."""
    bits, lowest = 4, Q(1, 64)
    u = Q(1, 2**bits)
    floats = sorted({nearest(Q(n, 64), bits, lowest) for n in range(1, 160)})
    worst = Q(0)
    for a, b in itertools.product(floats, floats):
        error = abs(nearest(a * b, bits, lowest) - a * b)
        if error > u * a * b:
            worst = max(worst, error / (ETA * lowest))
        if abs(nearest(a + b, bits, lowest) - a - b) > u * (a + b):
            expect("a sum underflows", 2, 0)
    expect("underflow of a product", worst, 0.9)


LEMMAS = {f.__name__: f for f in (sums_in_any_order, tensor_cores, equal_terms, walk, softmax, underflow)}


def main(names):
    for name in names or LEMMAS:
        LEMMAS[name]()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
