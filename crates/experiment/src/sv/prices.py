"""Prints the daily prices of the S&P 500 that the package `arch` carries (standard library and pip only)."""
import csv, gzip, io, pathlib, subprocess, sys, tempfile, zipfile

with tempfile.TemporaryDirectory() as folder:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "arch"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    wheels = list(pathlib.Path(folder).glob("arch-*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        sys.exit("pip could not fetch the package arch: " + (done.stderr.strip().splitlines() or ["no wheel"])[-1])
    packed = zipfile.ZipFile(wheels[0]).read("arch/data/sp500/sp500.csv.gz")
for row in csv.DictReader(io.StringIO(gzip.decompress(packed).decode())):
    print(row["Adj Close"])
