"""Makes the binary entries of the corpus: tables by pyarrow and numpy, draws and run folders by the command itself.

    python3 make.py path/to/smidgen

Entries are small: a fuzzer finds its way from small files, and they are in the repository.
"""

import pathlib, subprocess, sys, tempfile, zipfile

import numpy as np
import pyarrow as pa
import pyarrow.feather, pyarrow.parquet

here = pathlib.Path(__file__).parent
smidgen = str(pathlib.Path(sys.argv[1]).resolve())


def put(target, name, data):
    (here / target).mkdir(exist_ok=True)
    (here / target / name).write_bytes(data)


# ---- tables

put("csv", "numbers.csv", b"x,y\n1,0.5\n2,-1e-3\n3,1e10\n")
put("csv", "kinds.csv", b'x1,x2,ok,"a ""name"""\n1,2,true,"a, b"\n3,4,false,"line\nbreak"\n5,6,TRUE,\n')
put("csv", "holes.csv", b"x,y,z\n1,,a\nNA,2,b\n,3,\n")
put("csv", "strange.csv", b"\xef\xbb\xbfx , x1\r\n 1 ,9007199254740993\r\n\r\n2,1e999\r\n")
put("csv", "ragged.csv", b"x,y\n1,2,3\n4\n")
put("csv", "twice.csv", b"x,x\n1,2\n")

columns = {
    "x": pa.array([1.0, 2.5, -3.0]),
    "x2": pa.array([1, 2, 2**60], pa.int64()),
    "b": pa.array([True, None, False]),
    "s": pa.array(["a", "b b", "a"]).dictionary_encode(),
    "v": pa.array([[1.0, 2.0]] * 3, pa.list_(pa.float64(), 2)),
    "l": pa.array([[1.0], [2.0], [3.0]], pa.list_(pa.float32())),
}
narrow = pa.table({"x": columns["x"], "y": pa.array([1, 0, 1], pa.int8())})
wide = pa.table(columns)
odd = pa.table({
    "d": pa.array([1, 2], pa.date32()), "t": pa.array([1, 2], pa.timestamp("us")), "z": pa.array([None, None], pa.null()),
    "u": pa.array([1, 2**63], pa.uint64()), "h": pa.array([1.0, None], pa.float16()), "n": pa.array([{"a": 1}, None]),
})
for name, table in (("narrow", narrow), ("wide", wide), ("odd", odd)):
    for compression in ("none", "snappy", "zstd"):
        if name == "odd" and compression != "none":
            continue
        sink = pa.BufferOutputStream()
        pa.parquet.write_table(table, sink, compression=compression, row_group_size=2, store_schema=name == "wide")
        put("parquet", f"{name}-{compression}.parquet", sink.getvalue().to_pybytes())
    for compression in (None, "lz4", "zstd"):
        if name == "odd" and compression:
            continue
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression=compression)
        with pa.ipc.new_file(sink, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=2)
        put("arrow", f"{name}-{compression or 'none'}.arrow", sink.getvalue().to_pybytes())
sink = pa.BufferOutputStream()
with pa.ipc.new_stream(sink, narrow.schema) as writer:
    writer.write_table(narrow)
put("arrow", "stream.arrows", sink.getvalue().to_pybytes())

arrays = {
    "doubles": np.array([1.0, 2.0, 3.0]), "matrix": np.arange(6.0).reshape(3, 2), "columns": np.asfortranarray(np.arange(6.0).reshape(3, 2)),
    "big": np.array([1, 2], ">i2"), "truth": np.array([True, False]), "words": np.array(["a", "bb"]),
    "records": np.array([(1, 2.0), (3, 4.0)], [("x", "i4"), ("y", "f8")]), "none": np.zeros((0, 2)),
}
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "a.npy"
    for name, array in arrays.items():
        np.save(path, array)
        put("npy", f"{name}.npy", path.read_bytes())
    path = pathlib.Path(folder) / "a.npz"
    np.savez(path, x=arrays["matrix"], y=np.array([1, 0, 1]))
    put("npz", "plain.npz", path.read_bytes())
    np.savez_compressed(path, x=arrays["doubles"], s=np.array(["a", "b", "a"]), t=np.array([True, False, True]))
    put("npz", "deflated.npz", path.read_bytes())
    np.savez(path, x=arrays["doubles"], y=np.array([1.0, 2.0]))
    put("npz", "uneven.npz", path.read_bytes())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("x.npy", b"\x93NUMPY\x01\x00")
        archive.writestr("readme.txt", b"no array")
    put("npz", "others.npz", path.read_bytes())

# ---- draws and run folders, by the command

# As crates/fuzzing/src/files.rs has it.
PROGRAM = """[assume mu (normal 0 10)] [assume k (poisson 2)]
[assume g (mem (lambda (i) (normal mu 1)))]
[for i in (range 0 4) [observe (normal (g (int_mod i (+ k 1))) 1) (* 0.7 i)]]
[predict mu] [predict k] [predict (list mu (g 0))]
"""
NAMES = ["run.json", "report.json", "chain-0.arrows", "chain-0.1.arrows", "chain-0.ckpt", "chain-0.ckpt.prev"]


def sections(checkpoint):
    """The sections of a checkpoint, each a tag, a length in four bytes and its bytes."""
    count = int.from_bytes(checkpoint[28:32], "little")
    place, out = 32, b""
    for _ in range(count):
        length = int.from_bytes(checkpoint[place + 4:place + 12], "little")
        out += checkpoint[place:place + 4] + length.to_bytes(4, "little") + checkpoint[place + 12:place + 12 + length]
        place += 12 + length
    return out


def packed(folder):
    out = b""
    for number, name in enumerate(NAMES):
        path = folder / name
        if path.exists():
            data = path.read_bytes()
            if "ckpt" in name:
                number, data = number + 2, sections(data)
            # Where it was made is no matter.
            data = data.replace(str(folder.resolve().parent).encode(), b"/any")
            out += bytes([number]) + len(data).to_bytes(4, "little") + data
    return out


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    (folder / "any.smg").write_text(PROGRAM)

    def sample(*words):
        common = ["--seed", "1", "--chains", "1", "--warmup", "20", "--draws", "12"]
        subprocess.run([smidgen, "sample", "any.smg", *common, *words], cwd=folder, check=True, capture_output=True)

    for name in ("d.csv", "d.json", "d.parquet", "d.arrow"):
        sample("--record", "(> mu 0)", "--out", name)
        put("draws", name, (folder / name).read_bytes())
        states = (folder / name).with_suffix(".states")
        if states.exists():
            put("draws", "d.states", states.read_bytes())
    put("draws", "others.csv", b"\xef\xbb\xbfmu, ok\n1.5,TRUE\n-2,false\n")
    put("draws", "chains.csv", b"draw,x,chain,y\n0,1,7,5\n0,2,3,6\n1,3,7,\n")
    put("draws", "vectors.json", b'{"draws": {"x": [[[1, 2], [3, 4]]], "y": [[true, false]]}}')
    for name, kernel in (("default", None), ("mh", "(mh default one 3)"), ("slices", "(do (slice mu all 1) (mh k all 2))")):
        run = f"{name}.run"
        sample("--checkpoint-every", "4", "--out", run, *(["--kernel", kernel] if kernel else []))
        put("folders", f"{name}.folder", packed(folder / run))
        (folder / run / "report.json").unlink()
        (folder / run / "chain-0.arrows").write_bytes((folder / run / "chain-0.arrows").read_bytes()[:-300])
        put("folders", f"{name}-cut.folder", packed(folder / run))
    # Found by looking: a folder that claims to have more chains than anybody can count.
    put("folders", "endless.folder", bytes([0]) + (31).to_bytes(4, "little") + b'{"chains": 1000000000000000000}')
