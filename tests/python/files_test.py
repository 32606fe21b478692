# Files that NumPy and the safetensors package write are read by Belfry, and the reverse, bit for bit:
#   python files_test.py TEST_EXCHANGE
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import safetensors
import safetensors.numpy

exchange = sys.argv[1]
random = numpy.random.default_rng(1)


def bits(count, dtype):
    """Numbers of that type with random bits, so that NaNs and the smallest numbers are among them."""
    raw = random.integers(256, size=count * numpy.dtype(dtype).itemsize, dtype=numpy.uint8)
    return raw.view(dtype)


def run(source, target):
    done = subprocess.run([exchange, source, target], capture_output=True, text=True)
    return done.returncode, done.stderr.strip()


def same(got, expected, name):
    assert got.dtype == expected.dtype, f"{name}: {got.dtype}, expected {expected.dtype}"
    assert got.shape == expected.shape, f"{name}: {got.shape}, expected {expected.shape}"
    assert got.tobytes() == expected.tobytes(), f"{name}: {got} differs from {expected}"


def all_same(got, expected):
    assert sorted(got) == sorted(expected), f"{sorted(got)}, expected {sorted(expected)}"
    for name, array in expected.items():
        same(numpy.asarray(got[name]), array, name)


OURS = {
    "float32": bits(24, "<f4").reshape(2, 3, 4),
    "float64": bits(6, "<f8").reshape(6),
    "int32": bits(6, "<i4").reshape(3, 2),
    "int64": bits(6, "<i8").reshape(1, 6),
    "uint8": bits(6, "u1"),
    "bool": numpy.array([[True, False], [False, True]]),
    "scalar": numpy.array(2.5, "<f4"),
    "empty": numpy.zeros((0, 3), "<f4"),
    "scope/of/a layer/W": bits(4, "<f4"),
    "nämé": bits(1, "<i4"),
}
# Types that Belfry does not have, and what it reads them as.
WIDENED = {"<f2": "<f4", "i1": "<i4", "<i2": "<i4", "<u2": "<i4", "<u4": "<i8"}


def foreign():
    arrays = {f"as {kind}": bits(12, kind).reshape(3, 4) for kind in WIDENED}
    arrays["as <f2"] = numpy.array([[0, -0.0, 1, 65504], [6e-8, -6.1e-5, numpy.inf, -numpy.inf]], "<f2")
    arrays["as <u8"] = numpy.array([0, 1, 2**63 - 1], "<u8")
    read = {name: array.astype(WIDENED.get(name[3:], "<i8")) for name, array in arrays.items()}
    return arrays, read


def both_formats(folder, source, expected):
    """Belfry reads the file; what it writes, in both formats, is read here."""
    for target in (folder / "out.npz", folder / "out.safetensors"):
        code, text = run(source, target)
        assert code == 0, text
        if target.suffix == ".npz":
            with numpy.load(target, allow_pickle=False) as arrays:
                all_same(dict(arrays), expected)
        else:
            all_same(safetensors.numpy.load_file(target), expected)


def test_numpy(folder):
    for save in (numpy.savez, numpy.savez_compressed):
        save(folder / "in.npz", **OURS)
        both_formats(folder, folder / "in.npz", OURS)
    arrays, read = foreign()
    numpy.savez(folder / "in.npz", **arrays)
    both_formats(folder, folder / "in.npz", read)


def test_orders(folder):
    """Fortran's order, the other order of bytes, and arrays that are parts of others."""
    whole = bits(60, "<f4").reshape(3, 4, 5)
    arrays = {"fortran": numpy.asfortranarray(whole), "part": whole[::2, 1:, ::-1], "axes": whole.transpose(2, 0, 1)}
    expected = {name: numpy.ascontiguousarray(array) for name, array in arrays.items()}
    for kind in ("f4", "f8", "i4", "i8"):
        expected[kind] = bits(6, "<" + kind).reshape(2, 3)
        arrays[kind] = numpy.asfortranarray(expected[kind].byteswap().view(">" + kind))
    for kind in ("f2", "i2", "u2", "u4"):
        small = numpy.arange(6).reshape(2, 3)
        arrays[kind], expected[kind] = small.astype(">" + kind), small.astype(WIDENED["<" + kind])
    numpy.savez_compressed(folder / "in.npz", **arrays)
    both_formats(folder, folder / "in.npz", expected)


def test_safetensors(folder):
    arrays, read = foreign()
    safetensors.numpy.save_file({**OURS, **arrays}, folder / "in.safetensors", {"format": "np"})
    both_formats(folder, folder / "in.safetensors", {**OURS, **read})


def test_small_floats(folder):
    """Types that NumPy does not have: every bit pattern of bf16 and of the floats of 8 bits."""
    halves, bytes_ = numpy.arange(65536, dtype="<u2"), numpy.arange(256, dtype="u1")
    header, data = {}, b""
    for name, kind, values in ("bf16", "BF16", halves), ("e5m2", "F8_E5M2", bytes_), ("e4m3", "F8_E4M3", bytes_):
        header[name] = {"dtype": kind, "shape": values.shape, "data_offsets": (len(data), len(data) + values.nbytes)}
        data += values.tobytes()
    text = json.dumps(header).encode()
    blob = len(text).to_bytes(8, "little") + text + data
    assert len(safetensors.deserialize(blob)) == 3  # the package agrees that this is such a file
    (folder / "in.safetensors").write_bytes(blob)
    code, text = run(folder / "in.safetensors", folder / "out.npz")
    assert code == 0, text
    got = dict(numpy.load(folder / "out.npz"))
    same(got["bf16"].view("<u4"), halves.astype("<u4") << 16, "bf16")
    # An f8_e5m2 is the upper half of an f2.
    expected = (bytes_.astype("<u2") << 8).view("<f2").astype("<f4")
    numpy.testing.assert_array_equal(got["e5m2"], expected)
    for bits_, value in {0x00: 0, 0x01: 2.0**-9, 0x38: 1, 0x7E: 448, 0xFE: -448}.items():
        assert got["e4m3"][bits_] == value, (bits_, got["e4m3"][bits_])
    assert numpy.isnan(got["e4m3"][[0x7F, 0xFF]]).all() and numpy.isfinite(got["e4m3"][0x40:0x7F]).all()


def test_refusals(folder):
    """What cannot be read without loss is an error that names the array."""
    for name, array in {"complex": numpy.zeros(2, "<c8"), "text": numpy.array(["a", "bc"]),
                        "huge": numpy.array([2**63], "<u8")}.items():
        numpy.savez(folder / "in.npz", **{name: array})
        code, text = run(folder / "in.npz", folder / "refused.npz")
        assert code == 1 and f"'{name}.npy'" in text and "expected" in text, (code, text)
    safetensors.numpy.save_file({"huge": numpy.array([2**63], "<u8")}, folder / "in.safetensors")
    code, text = run(folder / "in.safetensors", folder / "refused.npz")
    assert code == 1 and "tensor 'huge': expected unsigned numbers below 2^63, got 9223372036854775808" in text, text
    assert not (folder / "refused.npz").exists()


for test in (test_numpy, test_orders, test_safetensors, test_small_floats, test_refusals):
    with tempfile.TemporaryDirectory() as folder:
        test(pathlib.Path(folder))
    print(f"{test.__name__}: ok")
