"""Makes the synthetic tables of the examples but sv.csv (standard library only): python3 make.py"""
import csv
import math
import pathlib
import random

here = pathlib.Path(__file__).resolve().parent


def write(name, header, rows):
    with open(here / name, "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(header)
        out.writerows(rows)


def poisson(rng, rate):
    limit, k, product = math.exp(-rate), 0, rng.random()
    while product > limit:
        k += 1
        product *= rng.random()
    return k


# Support tickets a day; a release on day 58 brought the rate down from 6.5 to 3.8.
rng = random.Random(1)
write("tickets.csv", ["day", "tickets"], [(day, poisson(rng, 6.5 if day < 58 else 3.8)) for day in range(100)])

# Logistic regression, bias -0.5, weights 1.2 and -0.8.
rng = random.Random(2)
rows = []
for _ in range(500):
    x = [round(rng.gauss(0, 1), 4) for _ in range(2)]
    p = 1 / (1 + math.exp(0.5 - 1.2 * x[0] + 0.8 * x[1]))
    rows.append((*x, int(rng.random() < p)))
write("logistic.csv", ["x1", "x2", "y"], rows)

# Four directions; the class decides the distance from the origin.
rng = random.Random(3)
rows = []
for i in range(120):
    y, turn = i % 2, math.radians(45 + 90 * rng.randrange(4))
    radius, side = (1.5 if y else 1.8) + 0.1 * rng.gauss(0, 1), 0.2 * rng.gauss(0, 1)
    a = radius * math.cos(turn) - side * math.sin(turn)
    b = radius * math.sin(turn) + side * math.cos(turn)
    rows.append((i, round(a, 4), round(b, 4), y))
write("jointdpm.csv", ["i", "x1", "x2", "y"], rows)
