# Data that the pages speak of: names that a reader would have.
import random as _random

_rng = _random.Random(1)
x = [_rng.gauss(0, 1) for _ in range(40)]
y = [1 + 2 * v + _rng.gauss(0, 0.5) for v in x]
homes = {
    "county": [["north", "south", "east"][i % 3] for i in range(60)],
    "floor": [i % 2 for i in range(60)],
    "radon": [1.5 + 0.3 * (i % 3) - 0.7 * (i % 2) + _rng.gauss(0, 0.4) for i in range(60)],
}
