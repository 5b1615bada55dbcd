"""Makes tests/arviz.tsv: what ArviZ says about the cases that tests/arviz.rs draws again.

Made with Python 3.11, arviz 0.23.4, numpy 2.4.6, scipy 1.17.1:

    pip install arviz==0.23.4 numpy==2.4.6 scipy==1.17.1 "matplotlib<3.11"
    python make_arviz_reference.py > arviz.tsv

The generator uses only exact integer arithmetic and correctly rounded operations, so that
Python and Rust make the same doubles.
"""

import arviz
import numpy as np

MASK = (1 << 64) - 1


class Generator:
    """A 64-bit linear congruential generator (Knuth's MMIX constants)."""

    def __init__(self, seed):
        self.state = seed

    def uniform(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & MASK
        return (self.state >> 11) / 2.0**53

    def bell(self):
        """Near normal: the sum of twelve uniforms, minus six."""
        total = 0.0
        for _ in range(12):
            total += self.uniform()
        return total - 6.0


def draw(case):
    generator = Generator(case["seed"])
    chains = []
    for chain in range(case["chains"]):
        x = generator.bell()
        draws = []
        for i in range(case["draws"]):
            kind, a = case["kind"], case["a"]
            if kind == "ar":
                x = a * x + generator.bell()
                y = x
            elif kind == "shifted":
                y = generator.bell() + a * chain
            elif kind == "scaled":
                y = generator.bell() * (1.0 + a * chain)
            elif kind == "constant":
                y = a
            elif kind == "stuck":
                y = a if chain == 0 else generator.bell()
            elif kind == "coin":
                y = 1.0 if generator.uniform() < a else 0.0
            elif kind == "sticky coin":
                if generator.uniform() < a:
                    x = 1.0 if generator.uniform() < 0.5 else 0.0
                y = x
            elif kind == "heavy":
                y = generator.bell() / (generator.uniform() + a)
            elif kind == "rounded":
                y = float(np.floor(generator.bell() * a)) / a
            elif kind == "trend":
                y = generator.bell() + a * i
            elif kind == "alternating":
                y = a if i % 2 == 0 else -a
            elif kind == "infinite":
                y = generator.bell()
                if y > a:
                    y = np.inf
            elif kind == "nan":
                y = np.nan if i == 3 and chain == 0 else generator.bell()
            draws.append(y)
        chains.append(draws)
    return np.array(chains)


CASES = [
    ("independent", "ar", 0.0, 4, 1000),
    ("independent, odd length", "ar", 0.0, 3, 1001),
    ("one chain", "ar", 0.3, 1, 500),
    ("one chain of 7", "ar", 0.3, 1, 7),
    ("two chains of 4", "ar", 0.0, 2, 4),
    ("four chains of 5", "ar", 0.0, 4, 5),
    ("three chains of 9", "ar", 0.6, 3, 9),
    ("three draws", "ar", 0.0, 2, 3),
    ("autoregressive 0.5", "ar", 0.5, 4, 1000),
    ("autoregressive 0.9", "ar", 0.9, 4, 1000),
    ("autoregressive 0.99", "ar", 0.99, 2, 3000),
    ("random walk", "ar", 1.0, 4, 400),
    ("antithetic -0.5", "ar", -0.5, 4, 1000),
    ("antithetic -0.95", "ar", -0.95, 4, 1000),
    ("alternating", "alternating", 1.0, 2, 100),
    ("different means", "shifted", 0.7, 4, 250),
    ("different scales", "scaled", 2.0, 4, 250),
    ("trend", "trend", 0.01, 4, 300),
    ("constant", "constant", 0.1, 4, 100),
    ("constant, odd length", "constant", 3.0, 1, 11),
    ("one stuck chain", "stuck", 0.25, 4, 200),
    ("coin", "coin", 0.3, 4, 500),
    ("rare event", "coin", 0.01, 4, 500),
    ("sticky coin", "sticky coin", 0.05, 4, 500),
    ("heavy tails", "heavy", 0.0001, 4, 1000),
    ("ties", "rounded", 3.0, 4, 501),
    ("coarse ties", "rounded", 0.7, 3, 333),
    ("infinite draws", "infinite", 1.5, 4, 200),
    ("infinite median", "infinite", -1.0, 2, 50),
    ("a nan", "nan", 0.0, 2, 50),
    ("20 chains", "ar", 0.8, 20, 123),
]


def main():
    np.seterr(all="ignore")
    given = ["name", "kind", "a", "chains", "draws", "seed"]
    found = ["r_hat", "ess_bulk", "ess_tail", "ess_mean", "mcse_mean", "mean", "sd", "q5", "q50", "q95"]
    print(*given, *found, sep="\t")
    for seed, (name, kind, a, chains, draws) in enumerate(CASES, start=1):
        x = draw(dict(kind=kind, a=a, chains=chains, draws=draws, seed=seed))
        numbers = [
            arviz.rhat(x, method="rank"),
            arviz.ess(x, method="bulk"),
            arviz.ess(x, method="tail"),
            arviz.ess(x, method="mean"),
            arviz.mcse(x, method="mean"),
            np.mean(x),
            np.std(x, ddof=1),
            *np.quantile(x, [0.05, 0.5, 0.95]),
        ]
        numbers = [repr(float(number)) for number in numbers]
        print(name, kind, a, chains, draws, seed, *numbers, sep="\t")


main()
