"""Makes the tables of the gallery (standard library only, fixed seeds): python3 make.py"""
import csv, math, pathlib, random

here = pathlib.Path(__file__).resolve().parent / "data"


def write(name, header, rows):
    with open(here / f"{name}.csv", "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(header)
        out.writerows(rows)


# Height of seedlings (cm) by hours of light a day.
rng = random.Random(1)
rows = []
for _ in range(60):
    light = round(rng.uniform(2, 14), 1)
    rows.append((light, round(3 + 1.4 * light + rng.gauss(0, 2), 1)))
write("seedlings", ["light", "height"], rows)

# Waiting times (minutes) of patients in twelve clinics, few in some of them.
rng = random.Random(2)
rows = []
for clinic in range(12):
    level = rng.gauss(30, 6)
    for _ in range([2, 3, 4, 6, 10, 15][clinic % 6]):
        rows.append((clinic, round(rng.gauss(level, 9), 1)))
write("clinics", ["clinic", "wait"], rows)

# Pumps in use until they fail or the study ends, each installed at another time; half of them of a new make.
rng = random.Random(3)
rows = []
for i in range(70):
    new, end = i % 2, round(rng.uniform(4, 30), 1)
    life = (14 * math.exp(0.6 * new)) * (-math.log(1 - rng.random())) ** (1 / 1.7)
    rows.append((new, round(min(life, end), 1) if life < end else end, end))
write("pumps", ["new", "time", "end"], rows)

# Blood pressure by age and weight; a third of the weights and some pressures were not noted.
rng = random.Random(4)
rows = []
for _ in range(60):
    age = round(rng.uniform(25, 75))
    weight = round(rng.gauss(74 + 0.1 * (age - 50), 10), 1)
    pressure = round(rng.gauss(125 + 0.5 * (age - 50) + 0.6 * (weight - 74), 8))
    lost = rng.random()
    rows.append((age, "" if lost < 0.33 else weight, "" if lost > 0.92 else pressure))
write("patients", ["age", "weight", "pressure"], rows)

# Minutes between eruptions of a geyser of two habits.
rng = random.Random(5)
rows = [(round(rng.gauss(54, 6) if rng.random() < 0.35 else rng.gauss(80, 6), 1),) for _ in range(120)]
write("geyser", ["minutes"], rows)

# Log activity of a sensor worn by an animal that rests (0) or moves (1).
rng = random.Random(6)
state, rows = 0, []
for t in range(120):
    if rng.random() < (0.08 if state == 0 else 0.12):
        state = 1 - state
    rows.append((t, round(rng.gauss((0.0, 1.6)[state], 0.7), 3)))
write("sensor", ["t", "y"], rows)

# A smooth curve, seen with noise at 30 places.
rng = random.Random(7)
xs = sorted(round(rng.uniform(0, 10), 2) for _ in range(30))
write("curve", ["x", "y"], [(x, round(math.sin(x) + 0.15 * x + rng.gauss(0, 0.25), 3)) for x in xs])

# Daily returns (percent) whose volatility wanders.
rng = random.Random(8)
h, rows = 0.0, []
for t in range(120):
    h = 0.95 * h + rng.gauss(0, 0.3)
    rows.append((t, round(rng.gauss(0, math.exp(h / 2)), 4)))
write("returns", ["t", "r"], rows)

# Sizes of shells from an unknown number of kinds.
rng = random.Random(9)
rows = [(round(rng.gauss([2.0, 5.0, 9.0][rng.choices([0, 1, 2], [5, 3, 2])[0]], 0.6), 2),) for _ in range(50)]
write("shells", ["size"], rows)

# Sales of two versions of a page.
rng = random.Random(10)
rows = []
for version, rate in (("old", 0.085), ("new", 0.11)):
    rows.append((version, 1200, sum(rng.random() < rate for _ in range(1200))))
write("versions", ["version", "visitors", "sales"], rows)

# How content guests are, from 0 to 3, by the minutes that they waited.
rng = random.Random(11)
rows = []
for _ in range(150):
    wait = round(rng.expovariate(1 / 15))
    u = rng.random()
    latent = -0.06 * wait + math.log(u / (1 - u))
    rows.append((wait, sum(latent > cut for cut in (-2.5, -1.0, 0.6))))
write("guests", ["wait", "grade"], rows)

# Steps at unknown places, with noise.
rng = random.Random(12)
levels = [0] * 16 + [3] * 8 + [1] * 4 + [-2] * 4 + [0.5] * 32
write("steps", ["t", "y"], [(t, round(rng.gauss(level, 0.7), 3)) for t, level in enumerate(levels)])

# Demand in 100 weeks.
rng = random.Random(13)
y, e, rows = 5.0, 0.0, []
for t in range(100):
    shock = rng.gauss(0, 1)
    y, e = 5 + 0.7 * (y - 5) + shock + 0.4 * e, shock
    rows.append((t, round(y, 3)))
write("demand", ["t", "y"], rows)

# True and measured salt; the meter errs by 1.
rng = random.Random(14)
rows = []
for _ in range(60):
    salt = rng.gauss(8, 1.5)
    rows.append((round(salt + rng.gauss(0, 1), 2), round(120 + 4 * (salt - 8) + rng.gauss(0, 6), 1)))
write("salt", ["measured", "pressure"], rows)

# Yield of a field by eight treatments, of which three matter.
rng = random.Random(17)
rows = []
for _ in range(80):
    x = [round(rng.gauss(0, 1), 3) for _ in range(8)]
    rows.append((*x, round(1.2 * x[0] - 0.8 * x[3] + 0.25 * x[6] + rng.gauss(0, 1), 3)))
write("treatments", [f"x{j}" for j in range(8)] + ["y"], rows)
