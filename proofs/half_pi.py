#!/usr/bin/env python3
"""Shows, in exact rational arithmetic, that no double x with 0.785 <= |x| <= 2^24 is nearer than
2^-61 to a multiple of pi/2: what trig.gappa assumes of R.

The doubles of a binade are whole multiples of g, and |x - n pi/2| = g |m - n a| with a = pi/2 / g.
Of all n up to N, a convergent's denominator of the continued fraction of a makes |m - n a| least
(Lagrange). Pi is Machin's, to 300 bits.

    half_pi.py [BITS]     whether it is 2^-BITS, default 61; exit status 1: it is not
"""
import sys
from fractions import Fraction


def arctangent(inverse):
    """arctan(1 / inverse), and what it may be off by: the next term of the series."""
    total, term, k = Fraction(0), Fraction(1, inverse), 0
    while abs(term) / (2 * k + 1) > Fraction(1, 2**300):
        total += term / (2 * k + 1)
        term, k = -term / inverse**2, k + 1
    return total, abs(term) / (2 * k + 1)


def denominators(a, most):
    """Of the convergents of a."""
    before, q = 0, 1
    while q <= most:
        yield q
        if a.denominator == 1:
            return
        a = 1 / (a - a.numerator // a.denominator)
        before, q = q, a.numerator // a.denominator * q + before


def least_distance():
    (fifth, error), (other, error_of_other) = arctangent(5), arctangent(239)
    half_pi = 2 * (4 * fifth - other)
    error = 2 * (4 * error + error_of_other)
    least = Fraction(1)
    for binade in range(0, 25):  # x in [2^(binade - 1), 2^binade]
        grid = Fraction(2) ** (binade - 53)
        most = int(2**binade / half_pi) + 1
        for n in denominators(half_pi / grid, most):
            m = round(n * half_pi / grid)
            least = min(least, abs(m * grid - n * half_pi) - n * error)
    return least


def main(bits):
    least = least_distance()
    print(f"no double up to 2^24 is nearer than {float(least).hex()} to a multiple of pi/2")
    return 0 if least >= Fraction(1, 2**bits) else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 61))
