#!/usr/bin/env python3
"""Records what Triton's `tl` does on a GPU, operation by operation, as exact bits: reference.txt of this folder.

Every case is a few lines in Triton's language over operands that this script makes: edge values of each element type,
and random ones from numpy's frozen generator. README.md has the format of the file, the versions and the commands.

  make_reference.py --part I/N --out FILE   runs every N-th case from the I-th on, and writes FILE; goes on with what
                                            is in FILE already
  make_reference.py --join FILES            writes reference.txt from such files
  make_reference.py --compile               compiles all cases for an H100 without having one, and says which fail
"""

import argparse
import datetime
import hashlib
import importlib.util
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import triton
import triton.language as tl

HERE = Path(__file__).resolve().parent
DEVICE = "cpu" if os.environ.get("TRITON_INTERPRET") == "1" else "cuda"

# Name here: torch's type, Triton's name, width in bits. The position is the code that kernels store.
TYPES = {
    "bool": (torch.bool, "tl.int1", 8),
    "u8": (torch.uint8, "tl.uint8", 8),
    "i8": (torch.int8, "tl.int8", 8),
    "i32": (torch.int32, "tl.int32", 32),
    "i64": (torch.int64, "tl.int64", 64),
    "f8e4m3": (torch.float8_e4m3fn, "tl.float8e4nv", 8),
    "f8e5m2": (torch.float8_e5m2, "tl.float8e5", 8),
    "f16": (torch.float16, "tl.float16", 16),
    "bf16": (torch.bfloat16, "tl.bfloat16", 16),
    "f32": (torch.float32, "tl.float32", 32),
    "f64": (torch.float64, "tl.float64", 64),
    "u32": (torch.uint32, "tl.uint32", 32),
    "u64": (torch.uint64, "tl.uint64", 64),
    "i16": (torch.int16, "tl.int16", 16),
    "u16": (torch.uint16, "tl.uint16", 16),
}
CODES = list(TYPES)
ALL = CODES[:10]
INTEGERS = ["u8", "i8", "i32", "i64"]
FLOATS = ["f8e4m3", "f8e5m2", "f16", "bf16", "f32"]
WIDE = ["f16", "bf16", "f32"]
MOST = 1024  # elements of one result

HEADER = """
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def later(a, b):
    return b


@triton.jit
def either(a, b):
    return a | b


@triton.jit
def affine(a, b, c, d):
    return c * a, c * b + d


@triton.jit
def code_of(x, types, slot: tl.constexpr):
    code = -1
""" + "".join(f"    if x.dtype == {TYPES[name][1]}:\n        code = {i}\n" for i, name in enumerate(CODES)) + """
    tl.store(types + slot * 8, code)


@triton.jit
def put(out, types, slot: tl.constexpr, x):
    code_of(x, types, slot)
    if x.dtype == tl.int1:
        bits = x.to(tl.int64)
    elif x.dtype.is_floating():
        if x.dtype.primitive_bitwidth == 8:
            bits = x.to(tl.uint8, bitcast=True).to(tl.int64)
        elif x.dtype.primitive_bitwidth == 16:
            bits = x.to(tl.uint16, bitcast=True).to(tl.int64)
        elif x.dtype.primitive_bitwidth == 32:
            bits = x.to(tl.uint32, bitcast=True).to(tl.int64)
        else:
            bits = x.to(tl.int64, bitcast=True)
    else:
        bits = x.to(tl.int64)
    if x.type.is_block():
        tl.store(types + slot * 8 + 1, len(x.shape))
        for d in tl.static_range(len(x.shape)):
            tl.store(types + slot * 8 + 2 + d, x.shape[d])
        tl.store(out + slot * 1024 + tl.arange(0, x.numel), tl.reshape(bits, [x.numel]))
    else:
        tl.store(types + slot * 8 + 1, 0)
        tl.store(out + slot * 1024, bits)
"""


# ---- operands --------------------------------------------------------------------------------------------------

def bits_of(values, name):
    """Unsigned integers that hold the elements of a torch tensor."""
    width = TYPES[name][2]
    raw = values.contiguous().cpu()
    if name == "bool":
        return [int(v) for v in raw.flatten().tolist()]
    raw = raw.view({8: torch.uint8, 16: torch.int16, 32: torch.int32, 64: torch.int64}[width]).flatten().tolist()
    return [v % (1 << width) for v in raw]


def written(words, name):
    """Integers as decimal numbers; of floats the digits of their bits, without the zeros at the end."""
    width, parts = TYPES[name][2], []
    for word in words:
        word = int(word) % (1 << width)
        if name in FLOATS or name == "f64":
            parts.append(f"{word:0{width // 4}x}".rstrip("0") or "0")
        else:
            parts.append(str(word - (1 << width) if name[0] == "i" and word >> (width - 1) else word))
    return " ".join(parts)


def from_bits(words, name):
    width = TYPES[name][2]
    kind = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}[width]
    array = torch.from_numpy(np.array(words, dtype=np.uint64).astype(kind).view(
        {8: np.uint8, 16: np.int16, 32: np.int32, 64: np.int64}[width]))
    return array.to(torch.bool) if name == "bool" else array.view(TYPES[name][0])


def of(values, name):
    """Numbers, exact or rounded to the type, as a torch tensor."""
    if name in FLOATS:
        return torch.tensor([float(v) for v in values], dtype=torch.float64).to(torch.float32).to(TYPES[name][0])
    return from_bits([int(v) % (1 << TYPES[name][2]) for v in values], name)


INF, NAN = float("inf"), float("nan")
FLOAT_EDGES = {
    "f8e4m3": [0x00, 0x80, 0x38, 0xB8, 0x01, 0x81, 0x07, 0x08, 0x7E, 0xFE, 0x7F, 0x40, 0xC4, 0x34, 0x50, 0xE3],
    "f8e5m2": [0x00, 0x80, 0x3C, 0xBC, 0x01, 0x81, 0x03, 0x04, 0x7B, 0xFB, 0x7E, 0x7C, 0xFC, 0x42, 0x36, 0xD1],
    "f16": [0x0000, 0x8000, 0x3C00, 0xBC00, 0x0001, 0x83FF, 0x0400, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x4248,
            0xC500, 0x2E66, 0x6400],
    "bf16": [0x0000, 0x8000, 0x3F80, 0xBF80, 0x0001, 0x807F, 0x0080, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0, 0x4049,
             0xC0A0, 0x3DCD, 0x4480],
    "f32": [0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x00000001, 0x807FFFFF, 0x00800000, 0x7F7FFFFF,
            0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x40490FDB, 0xC0A00000, 0x3DCCCCCD, 0x4B800001],
}
INTEGER_EDGES = {
    "bool": [0, 1] * 8,
    "u8": [0, 1, 2, 3, 7, 8, 15, 100, 126, 127, 128, 129, 200, 240, 254, 255],
    "i8": [0, 1, -1, 2, -2, 3, -3, 7, -7, 8, 100, -100, 126, 127, -127, -128],
    "i32": [0, 1, -1, 2, -2, 7, -7, 8, 255, -256, 2**24 + 1, -(2**24) - 3, 65535, -65536, 2**31 - 1, -(2**31)],
    "i64": [0, 1, -1, 7, -7, 300, 2**31, -(2**31) - 1, 2**40 + 3, -(2**40) - 5, 2**53 + 1, -(2**53) - 3, 2**62,
            -(2**62) - 1, 2**63 - 1, -(2**63)],
}
OPERANDS = {}  # name: (type, shape, torch tensor)


def operand(name, type_name, values, shape=None):
    OPERANDS[name] = (type_name, list(shape or [len(values)]), values)


def random_words(stream, type_name, count):
    return [int(w) % (1 << TYPES[type_name][2]) for w in stream.randint(0, 2**63 - 1, count, dtype=np.int64) * 2 + 1]


def finite(type_name, words):
    """Replaces NaN by one, so that cases about numbers are about numbers."""
    values = from_bits(words, type_name)
    return torch.where(torch.isnan(values.to(torch.float32)), torch.tensor(1.0), values.to(torch.float32)).to(
        TYPES[type_name][0])


def make_operands():
    stream = np.random.RandomState(20)
    for name in ALL:
        edge = from_bits(FLOAT_EDGES[name], name) if name in FLOATS else of(INTEGER_EDGES[name], name)
        few = edge[torch.tensor([0, 1, 3, 4, 8, 10, 12, 13] if name in FLOATS else [0, 1, 2, 4, 8, 13, 14, 15])]
        operand(f"{name}.x", name, few)
        operand(f"{name}.y", name, few[(torch.arange(8) * 5 + 3) % 8])
        # Divisors: a quotient by 0, and the lowest integer by -1, have no value.
        if name in INTEGERS:
            divisors = [v for v in INTEGER_EDGES[name] if v not in (0, -1)]
            operand(f"{name}.d", name, of([divisors[(i * 5 + 2) % len(divisors)] for i in range(8)], name))
        elif name == "bool":
            operand("bool.d", name, of([1] * 8, name))
        # Pairs within a type.
        lane = torch.arange(32)
        left, right = edge[lane % 16], edge[(lane // 16 * 7 + lane * 3) % 16]
        if name in FLOATS:
            random = finite(name, random_words(stream, name, 32))
            mixed = lane % 3 == 2
            pick = lambda m, a, b: from_bits(  # noqa: E731 (f8 has no torch.where)
                [x if c else y for c, x, y in zip(m.tolist(), bits_of(a, name), bits_of(b, name))], name)
            left, right = pick(mixed, random, left), pick(mixed, random.flip(0) if name in WIDE else random, right)
        operand(f"{name}.left", name, left)
        operand(f"{name}.right", name, right)
        if name in INTEGERS:
            width = TYPES[name][2]
            operand(f"{name}.n", name, of([(i * 7) % width for i in range(32)], name))
            pairs = [(a, b) for a in INTEGER_EDGES[name] for b in INTEGER_EDGES[name]
                     if b != 0 and not (b == -1 and a == min(INTEGER_EDGES[name]))]
            pairs = [pairs[i] for i in stream.choice(len(pairs), 32, replace=False)]
            operand(f"{name}.dividend", name, of([a for a, _ in pairs], name))
            operand(f"{name}.divisor", name, of([b for _, b in pairs], name))
        # Small whole numbers: their sums and products are exact in every order.
        small = stream.randint(0 if name in ("bool", "u8") else -4, 2 if name == "bool" else 5, (4, 8))
        operand(f"{name}.small", name, of(small.flatten(), name), [4, 8])
        if name in FLOATS + ["u8", "i8", "i32"]:
            for side, shape in (("a", (16, 32)), ("b", (32, 8))):
                small = stream.randint(0 if name == "u8" else -4, 5, shape)
                operand(f"{name}.{side}", name, of(small.flatten(), name), shape)
    operand("bool.c", "bool", of([1, 0, 0, 1] * 2, "bool"))
    # Sums of bytes beyond the byte.
    operand("u8.large", "u8", of(list(stream.randint(128, 256, 32)), "u8"), [2, 16])
    operand("i8.large", "i8", of(list(stream.randint(-128, -64, 32)), "i8"), [2, 16])
    operand("i32.large", "i32", of(list(stream.randint(2**30, 2**31 - 1, 32)), "i32"), [2, 16])
    operand("bool.ones", "bool", of([1] * 512, "bool"), [2, 256])
    # Maxima with ties, and with NaN that are not in the first place of a row.
    for name in WIDE:
        rows = [[1, 3, 3, -2, 3, 0, -5, -5], [-0.0, 0.0, 0.0, -0.0, -0.0, 0.0, -0.0, 0.0],
                [-INF, 1, INF, 2, INF, -INF, 0, -1], [7] * 8]
        operand(f"{name}.ties", name, of(sum(rows, []), name), [4, 8])
        rows = [[1, NAN, 3, -2, 3, NAN, -5, -5], [2, 1, NAN, NAN, NAN, NAN, NAN, NAN], [NAN] * 7 + [4], [NAN] * 8]
        operand(f"{name}.nans", name, of(sum(rows, []), name), [4, 8])
    for name in ("i8", "u8", "i32", "i64"):
        rows = [[1, 3, 3, 2, 3, 0, 5, 5], [100, 101, 101, 7, 127, 127, 0, 0]]
        operand(f"{name}.ties", name, of(sum(rows, []), name), [2, 8])
    # Functions: arguments of every size, and of the size that they are made for.
    for name in WIDE:
        ordinary = stream.standard_normal(88) * np.repeat([1, 4, 20, 0.01], 22)
        edges = from_bits(FLOAT_EDGES[name], name).to(torch.float32).tolist()
        operand(f"{name}.f", name, of(edges + [0.5, 2, 10, 88, -88, 104, -104, 1e4] + [1 / 3, 1e-3, 1e-6, 5e5, 7, 9, 0.7,
                                                                                   1.7] + list(ordinary) + [3] * 8, name))
        operand(f"{name}.positive", name, of([abs(v) + 2**-20 for v in ordinary[:64]], name))
        operand(f"{name}.low", name, of([-2, -1, 0, -INF] * 8, name))
        operand(f"{name}.high", name, of([2, 3, 0.5, INF] * 8, name))
        operand(f"{name}.third", name, of(stream.standard_normal(64) * 8, name))
    for name in ("i8", "u8", "i32", "i64"):
        operand(f"{name}.low", name, of([1, 2, 0, 3] * 8, name))
        operand(f"{name}.high", name, of([5, 100, 4, 7] * 8, name))
    # Conversions: halves between neighbours of the narrower type, and their neighbours.
    for target in ("f8e4m3", "f8e5m2", "f16", "bf16"):
        codes = {8: list(range(0, 0x7B)) if target == "f8e5m2" else list(range(0, 0x7E)),
                 16: [int(c) for c in stream.randint(0, 0x7BFF if target == "f16" else 0x7F7F, 40)] + [0, 1, 2, 0x3FE]}
        values = []
        for code in codes[TYPES[target][2]]:
            pair = from_bits([code, code + 1], target).to(torch.float64)
            middle = np.float32((float(pair[0]) + float(pair[1])) / 2)
            near = {0: middle, 1: np.nextafter(middle, np.float32(0)), 2: np.nextafter(middle, np.float32(INF))}
            values.append(float(near[len(values) % 4]) if len(values) % 4 < 3 else -float(middle))
        limit = float(torch.finfo(TYPES[target][0]).max)
        values += [limit, -limit, limit * 1.03, limit * 1.07, -limit * 1.2, 3e38, INF, -INF, NAN, 0.0, -0.0, 1e-45]
        values = values[-128:]
        operand(f"to.{target}", "f32", of(values + [1.0] * (128 - len(values)), "f32"))
        if target.startswith("f8"):
            operand(f"to.{target}.f16", "f16", of(values + [1.0] * (128 - len(values)), "f16"))
            operand(f"to.{target}.bf16", "bf16", of(values + [1.0] * (128 - len(values)), "bf16"))
            operand(f"all.{target}", target, from_bits(range(256), target))
    for name in WIDE:
        inside = [0, -0.0, 0.5, -0.5, 0.99, 1.5, -1.5, 2.5, 99.9, -99.9, 126.5, 127, -127.7, -128, 3, 7.999]
        operand(f"{name}.whole", name, of(inside, name))
        operand(f"{name}.whole_u8", name, of([abs(v) for v in inside[:13]] + [200, 255, 254.4], name))
        operand(f"{name}.outside", name, of([128, 129, 255, 256, -129, 300, -300, 65000, 2.0**31, 2.0**32, -(2.0**31) - 256,
                                             2.0**63, 1e30, INF, -INF, NAN], name))
    operand("f32.whole_i32", "f32", of([2.0**31 - 128, -(2.0**31), 2.0**24 + 2, -(2.0**30) + 64, 1e9, -1e9, 0.999, 5] * 2,
                                       "f32"))
    operand("f32.whole_i64", "f32", of([2.0**63 - 2.0**39, -(2.0**63), 2.0**53, -(2.0**40), 1e18, -1e18, 1e12, 5] * 2,
                                       "f32"))
    operand("i32.any", "i32", of(stream.randint(-(2**31), 2**31, 32, dtype=np.int64), "i32"))
    operand("i64.any", "i64", of([int(v) << (i % 3) for i, v in enumerate(
        stream.randint(-(2**61), 2**61, 32, dtype=np.int64) >> np.arange(32) % 40)], "i64"))
    # Shapes.
    operand("iota.4x8", "i32", of(range(32), "i32"), [4, 8])
    operand("iota.2x4x8", "i32", of(range(100, 164), "i32"), [2, 4, 8])
    operand("iota.8", "i32", of(range(8), "i32"))
    operand("iota.4x1", "i32", of(range(4), "i32"), [4, 1])
    operand("iota.4x8x2", "i32", of(range(64), "i32"), [4, 8, 2])
    # Matrices that are not exact, and batches.
    for name in WIDE:
        operand(f"{name}.random_a", name, of(stream.standard_normal(16 * 16), name), [16, 16])
        operand(f"{name}.random_b", name, of(stream.standard_normal(16 * 8), name), [16, 8])
        operand(f"{name}.batch_a", name, of(stream.randint(-4, 5, 2 * 256), name), [2, 16, 16])
        operand(f"{name}.batch_b", name, of(stream.randint(-4, 5, 2 * 128), name), [2, 16, 8])
        operand(f"{name}.random", name, of(stream.standard_normal(64), name), [4, 16])
    operand("f32.acc", "f32", of(stream.randint(-100, 100, 128), "f32"), [16, 8])
    operand("f16.acc", "f16", of(stream.randint(-100, 100, 128), "f16"), [16, 8])
    operand("i32.acc", "i32", of(stream.randint(-100, 100, 128), "i32"), [16, 8])
    # Memory.
    for name in ALL:
        words = stream.randint(0, 2 if name == "bool" else 60, 64)
        operand(f"{name}.memory", name, of(words, name), [64])
    operand("i32.permuted", "i32", of(stream.permutation(16), "i32"))
    operand("i32.same", "i32", of([3, 3, 5, 3, 5, 0, 0, 3] * 2, "i32"))
    for name in ("i32", "i64", "f32", "f16", "bf16"):
        values = [-3, 0, 1, 7, -100, 59, 12, 3, 100, -1, 2, 2, 30, 31, 32, 33]
        operand(f"{name}.value", name, of(values, name))
    operand("f32.value_edge", "f32", of([0.0, -0.0, INF, -INF, -1, 1, 2.5, -2.5] * 2, "f32"))
    operand("f32.memory_edge", "f32", of([-0.0, 0.0, 1, 1, -INF, INF, -2.5, 2.5] * 2, "f32"))


# ---- cases -----------------------------------------------------------------------------------------------------

CASES = []  # (name, operand names, body, number of results, memory)


def case(name, inputs, body=None, results=1, memory=False):
    """`body` assigns r0, r1, …; without one the name is the expression. `memory`: the first operand afterwards, too."""
    CASES.append((name, list(inputs), body or f"r0 = {name}", results, memory))


def make_cases():
    kind = lambda name: 0 if name == "bool" else 1 if name in INTEGERS else 2  # noqa: E731
    # Two types that meet.
    for a in ALL:
        for b in ALL:
            for name in ("x + y", "x / y", "x < y", "tl.maximum(x, y)"):
                case(name, [f"{a}.x", f"{b}.y"])
            case("tl.where(c, x, y)", [f"{a}.x", f"{b}.y", "bool.c"], "r0 = tl.where(z, x, y)")
            case("x % y", [f"{a}.x", f"{b}.d" if kind(b) < 2 and kind(a) < 2 else f"{b}.y"])
            if kind(a) < 2 and kind(b) < 2:
                case("x // y", [f"{a}.x", f"{b}.d"])
                case("x & y", [f"{a}.x", f"{b}.y"])
    # Pairs within a type.
    for a in ALL:
        pair = [f"{a}.left", f"{a}.right"]
        for name in ("x + y", "x - y", "x * y", "x / y", "x == y", "x <= y", "x > y", "x >= y", "x != y", "tl.minimum(x, y)",
                     "tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)",
                     "tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL)"):
            case(name, pair)
        if a in FLOATS:
            for name in ("tl.fdiv(x, y)", "tl.div_rn(x, y)", "x % y"):
                case(name, pair)
            case("tl.fma(x, y, z)", pair + [f"{a}.left"])
        else:
            for name in ("x | y", "x ^ y"):
                case(name, pair)
        if a in INTEGERS:
            for name in ("x // y", "x % y"):
                case(name, [f"{a}.dividend", f"{a}.divisor"])
            for name in ("x << y", "x >> y"):
                case(name, [f"{a}.left", f"{a}.n"])
        if a in WIDE:
            case("tl.fma(x, y, z)", [f"{a}.f", f"{a}.f", f"{a}.f"])
            clamped = [f"{a}.left", f"{a}.low", f"{a}.high"]
        elif a in INTEGERS:
            clamped = [f"{a}.left", f"{a}.low", f"{a}.high"]
        if a in WIDE or a in INTEGERS:
            case("tl.clamp(x, y, z)", clamped)
            case("tl.clamp(x, y, z, propagate_nan=tl.PropagateNan.ALL)", clamped)
    case("tl.umulhi(x, y)", ["i32.left", "i32.right"])
    # A Python scalar and a type.
    for a in ALL:
        for scalar in ("True", "3", "-3", "300", "2**31", "2**40", "2.5", "0.1", "1e6"):
            for name in (f"x + {scalar}", f"x < {scalar}"):
                case(name, [f"{a}.x"])
        for name in ("x / 3", "x / 0.1", "x % 3", "x // 3", "x & 3", "x & True", "3 - x", "x * 1e6"):
            case(name, [f"{a}.x"])
        for name in ("x == 0.1", "x < 0.1", "0.1 >= x", "tl.maximum(x, 3)", "tl.maximum(x, 0.1)", "tl.minimum(x, 2.5)"):
            case(name, [f"{a}.left"])
        if a in INTEGERS:
            for name in ("x << 3", "x >> 3", "1 << (x & 3)", "100 // (x | 1)", "100 % (x | 1)"):
                case(name, [f"{a}.x"])
        if a in WIDE:
            case("tl.clamp(x, 0.1, 2.5)", [f"{a}.left"])
            case("tl.fdiv(x, 3.0)", [f"{a}.left"])
            case("2.5 / x", [f"{a}.left"])
        case("tl.where(c, x, 1)", [f"{a}.x", "bool.c"], "r0 = tl.where(y, x, 1)")
        case("tl.where(c, x, 1.5)", [f"{a}.x", "bool.c"], "r0 = tl.where(y, x, 1.5)")
    case("tl.where(x, 1, 2)", ["bool.c"])
    case("tl.where(x, 1.5, 2)", ["bool.c"])
    case("tl.where(x, True, False)", ["bool.c"])
    # One operand.
    for a in ALL:
        for name in ("-x", "tl.abs(x)", "x == 0"):
            case(name, [f"{a}.left"])
        if kind(a) < 2:
            case("~x", [f"{a}.left"])
        else:
            case("tl.floor(x)", [f"{a}.left"])
            case("tl.ceil(x)", [f"{a}.left"])
    for a in WIDE + ["i32"]:
        x = f"{a}.f" if a in WIDE else "i32.left"
        for name in ("exp", "exp2", "log", "log2", "sin", "cos", "sqrt", "sqrt_rn", "rsqrt", "erf", "sigmoid"):
            case(f"tl.{name}(x)", [x])
    for name in ("expm1", "log10", "log1p", "sinh", "cosh", "tanh", "atanh", "rint", "trunc"):
        case(f"libdevice.{name}(x)", ["f32.f"])
    case("libdevice.pow(x, y)", ["f32.positive", "f32.third"])
    case("libdevice.pow(x, y)", ["f32.left", "f32.right"])
    case("libdevice.fmod(x, y)", ["f32.left", "f32.right"])
    for a in WIDE:
        case("tl.softmax(x)", [f"{a}.random"])
    # Conversions.
    for a in ALL:
        for b in ALL:
            if a in FLOATS and b in INTEGERS:
                continue
            case(f"x.to({b})", [f"{a}.left"], f"r0 = x.to({TYPES[b][1]})")
    for a in WIDE:
        for b in INTEGERS:
            case(f"x.to({b})", [f"{a}.whole_u8" if b == "u8" else f"{a}.whole"], f"r0 = x.to({TYPES[b][1]})")
            case(f"x.to({b}) of what {b} does not hold", [f"{a}.outside"], f"r0 = x.to({TYPES[b][1]})")
    case("x.to(i32)", ["f32.whole_i32"], "r0 = x.to(tl.int32)")
    case("x.to(i64)", ["f32.whole_i64"], "r0 = x.to(tl.int64)")
    for a in ("i32", "i64"):
        for b in ALL:
            case(f"x.to({b})", [f"{a}.any"], f"r0 = x.to({TYPES[b][1]})")
    for b in ("f8e4m3", "f8e5m2", "f16", "bf16"):
        sources = [f"to.{b}"] + ([f"to.{b}.f16", f"to.{b}.bf16"] if b.startswith("f8") else [])
        for source in sources:
            case(f"x.to({b})", [source], f"r0 = x.to({TYPES[b][1]})")
            case(f"x.to({b}, rtz)", [source], f"r0 = x.to({TYPES[b][1]}, fp_downcast_rounding='rtz')")
    for a in ("f8e4m3", "f8e5m2"):
        for b in ("f16", "f32"):
            case(f"x.to({b})", [f"all.{a}"], f"r0 = x.to({TYPES[b][1]})")
    for a, b in (("i32", "f32"), ("f32", "i32"), ("f16", "bf16"), ("i8", "u8"), ("u8", "f8e4m3")):
        case(f"x.to({b}, bitcast)", [f"{a}.left"], f"r0 = x.to({TYPES[b][1]}, bitcast=True)")
    # Reductions.
    for a in ALL:
        for name in ("tl.sum(x)", "tl.sum(x, 0)", "tl.sum(x, 1)", "tl.sum(x, -1, keep_dims=True)", "tl.cumsum(x, 0)",
                     "tl.cumsum(x, 1)", "tl.cumsum(x, 1, reverse=True)", "tl.max(x)", "tl.max(x, 1)", "tl.min(x, 0)",
                     "tl.argmax(x, 1)", "tl.argmin(x, 0)"):
            case(name, [f"{a}.small"])
    for x in ("u8.large", "i8.large", "i32.large", "bool.ones"):
        for name in ("tl.sum(x)", "tl.sum(x, 1)") + (("tl.cumsum(x, 1)",) if x != "bool.ones" else ()):
            case(name, [x])
    for a in INTEGERS + WIDE:
        for name in ("tl.max(x, 1)", "tl.min(x, 1)", "tl.argmax(x, 1)", "tl.argmin(x, 1)",
                     "tl.argmax(x, 1, tie_break_left=False)", "tl.max(x, 0, keep_dims=True)"):
            case(name, [f"{a}.ties"])
        case("tl.max(x, 1, return_indices=True)", [f"{a}.ties"], "r0, r1 = tl.max(x, 1, return_indices=True)", 2)
        case("tl.min(x, 1, return_indices=True)", [f"{a}.ties"], "r0, r1 = tl.min(x, 1, return_indices=True)", 2)
    for a in WIDE:
        for name in ("tl.max(x, 1)", "tl.min(x, 1)", "tl.argmax(x, 1)", "tl.argmin(x, 1)"):
            case(name, [f"{a}.nans"])
        for name in ("tl.sum(x, 1)", "tl.sum(x)", "tl.cumsum(x, 1)"):
            case(name, [f"{a}.random"])
    for a in ("i32", "f32"):
        for name in ("tl.cumprod(x, 1)", "tl.cumprod(x, 1, reverse=True)"):
            case(name, [f"{a}.ties"])
    case("tl.xor_sum(x, 1)", ["i32.large"])
    case("tl.reduce_or(x, 1)", ["i32.large"])
    case("tl.sum(x, 1, dtype=tl.int64)", ["i32.large"])
    case("tl.sum(x, 1, dtype=tl.float32)", ["f16.random"])
    # Lanes that meet each other.
    for a in ALL:
        for x in [f"{a}.small"] + ([f"{a}.ties"] if a in INTEGERS + WIDE else []):
            for name in ("tl.sort(x, 1)", "tl.sort(x, 1, descending=True)", "tl.topk(x, 2, 1)"):
                case(name, [x])
        case("tl.gather(x, y, 1)", [f"{a}.small", "i32.lanes_4x8"])
        case("tl.gather(x, y, 0)", [f"{a}.small", "i32.rows_4x8"])
    case("tl.flip(x, 0)", ["iota.4x8"])
    case("tl.histogram(x, 8)", ["i32.bins"])
    case("tl.histogram(x, 8, mask=x > 1)", ["i32.bins"])
    for x, y in (("i32.small", "i32.rows_4x8"), ("iota.4x8", "i32.lanes_4x8")):
        for name in ("tl.associative_scan((x, y), 1, affine)", "tl.associative_scan((x, y), 0, affine, reverse=True)",
                     "tl.reduce((x, y), 1, affine)"):
            case(name, [x, y], f"r0, r1 = {name}", 2)
    for name in ("tl.associative_scan(x, 1, either)", "tl.associative_scan(x, 1, later)", "tl.reduce(x, 0, either)",
                 "tl.reduce(x, 1, either, keep_dims=True)"):
        case(name, ["i32.lanes_4x8"])
    # Shapes.
    for name in ("tl.trans(x)", "tl.permute(x, (1, 0))", "tl.reshape(x, [8, 4])", "tl.reshape(x, [2, 2, 8])",
                 "tl.view(x, [8, 4])", "tl.ravel(x)", "tl.expand_dims(x, 0)", "tl.expand_dims(x, 1)", "tl.expand_dims(x, -1)",
                 "x[:, None, :]", "x.T", "tl.flip(x, 1)"):
        case(name, ["iota.4x8"])
    for name in ("tl.permute(x, (2, 0, 1))", "tl.trans(x, (1, 2, 0))", "tl.trans(x, 0, 2, 1)", "tl.reshape(x, [8, 8])",
                 "tl.ravel(x)", "tl.sum(x, 1)", "tl.argmax(x, 1)", "tl.cumsum(x, 1)"):
        case(name, ["iota.2x4x8"])
    case("tl.broadcast_to(x, [4, 8])", ["iota.4x1"])
    case("tl.broadcast_to(x, [4, 8])", ["iota.8"], "r0 = tl.broadcast_to(x[None, :], [4, 8])")
    case("x + y", ["iota.4x1", "iota.8"], "r0 = x + y")
    case("x + y", ["iota.4x8", "iota.8"], "r0 = x + y")
    case("x + y", ["iota.2x4x8", "iota.4x1"], "r0 = x + y")
    case("tl.join(x, y)", ["iota.4x8", "iota.4x8"], "r0 = tl.join(x, y + 100)")
    case("tl.join(x, y) of two types", ["i8.x", "f16.y"], "r0 = tl.join(x, y)")
    case("tl.join(x, y) of two shapes", ["iota.4x1", "iota.4x8"], "r0 = tl.join(x, y)")
    case("tl.split(x)", ["iota.4x8x2"], "r0, r1 = tl.split(x)", 2)
    case("tl.interleave(x, y)", ["iota.8", "iota.8"], "r0 = tl.interleave(x, y + 100)")
    case("tl.cat(x, y)", ["iota.8", "iota.8"], "r0 = tl.cat(x, y + 100, can_reorder=True)")
    case("tl.arange(3, 19)", ["iota.8"], "r0 = tl.arange(3, 19)")
    case("tl.full([4], -1, tl.uint8)", ["iota.8"])
    case("tl.full([4], 300, tl.uint8)", ["iota.8"])
    case("tl.full([4], 2.75, tl.int32)", ["iota.8"])
    case("tl.full([4], 1e6, tl.float16)", ["iota.8"])
    case("tl.cdiv(x, 3)", ["i32.whole_numbers"])
    case("tl.swizzle2d(i, j, 5, 4, 2)", ["iota.8"],
         "l = tl.arange(0, 32)\nr0, r1 = tl.swizzle2d(l // 4, l % 4, 8, 4, 2)", 2)
    case("sum of tl.range(10, -7, -3)", ["iota.8"],
         "r0 = tl.zeros([2], tl.int32)\nfor k in tl.range(10, -7, -3):\n    r0 = r0 * 100 + k")
    # Matrix products of small whole numbers: exact.
    for a in FLOATS + ["u8", "i8", "i32"]:
        ab = [f"{a}.a", f"{a}.b"]
        if a == "f32":
            case("tl.dot(x, y)", ab, "r0 = tl.dot(x, y, input_precision='ieee')")
            case("tl.dot(x, y) in tf32", ab, "r0 = tl.dot(x, y)")
            case("tl.dot(x, y, z)", ab + ["f32.acc"], "r0 = tl.dot(x, y, z, input_precision='ieee')")
        elif a in FLOATS:
            case("tl.dot(x, y)", ab)
            case("tl.dot(x, y, z)", ab + ["f32.acc"])
            case("tl.dot(x, y, out_dtype=tl.float16)", ab)
        else:
            case("tl.dot(x, y)", ab)
            case("tl.dot(x, y, z)", ab + ["i32.acc"])
            case("tl.dot(x, y, out_dtype=tl.int32)", ab)
    case("tl.dot(x, y)", ["f8e4m3.a", "f8e5m2.b"])
    case("tl.dot(x, y, z)", ["f16.a", "f16.b", "f16.acc"], "r0 = tl.dot(x, y, z, out_dtype=tl.float16)")
    for a in WIDE:
        precision = ", input_precision='ieee'" if a == "f32" else ""
        case("tl.dot(x, y)", [f"{a}.batch_a", f"{a}.batch_b"], f"r0 = tl.dot(x, y{precision})")
        case("tl.dot(x, y)", [f"{a}.random_a", f"{a}.random_b"], f"r0 = tl.dot(x, y{precision})")
    # Memory.
    for a in ALL:
        m = [f"{a}.memory"]
        case("load with other=1", m, "i = tl.arange(0, 16)\nr0 = tl.load(x_ptr + i, mask=i % 3 != 0, other=1)")
        case("load with other=-1.5", m, "i = tl.arange(0, 16)\nr0 = tl.load(x_ptr + i, mask=i < 5, other=-1.5)")
        case("load with other=a tile of f32", m + ["f32.whole_u8"],
             "i = tl.arange(0, 16)\nr0 = tl.load(x_ptr + i, mask=i % 2 == 0, other=y)")
        case("store of f32", m + ["f32.whole_u8" if a in ("u8", "bool") else "f32.whole"],
             "i = tl.arange(0, 16)\ntl.store(x_ptr + i * 2, y, mask=i != 3)", 0, True)
        case("store of i32", m + ["i32.left"], "tl.store(x_ptr + tl.arange(0, 32), y)", 0, True)
        case("store of a scalar", m, "i = tl.arange(0, 16)\ntl.store(x_ptr + i, 1)", 0, True)
    for a in WIDE + ["i32", "u8"]:
        m = [f"{a}.memory"]
        block = "p = tl.make_block_ptr(x_ptr, (5, 7), (8, 1), ({}), (4, 8), (1, 0))\n"
        for padding in ("zero", "nan"):
            case(f"load of a block pointer, {padding}", m, block.format("2, 3") +
                 f"r0 = tl.load(p, boundary_check=(0, 1), padding_option='{padding}')")
        case("load of a block pointer before the beginning", m, block.format("-1, -2") +
             "r0 = tl.load(p, boundary_check=(0, 1), padding_option='zero')")
        case("load of a block pointer, one dimension checked", m, block.format("3, 0") +
             "r0 = tl.load(p, boundary_check=(0,), padding_option='zero')")
        case("load of an advanced block pointer", m, block.format("0, 0") +
             "q = tl.advance(p, (1, 2))\nq = tl.advance(q, (1, 1))\n"
             "r0 = tl.load(q, boundary_check=(0, 1), padding_option='zero')\n"
             "r1 = tl.load(p, boundary_check=(0, 1), padding_option='zero')", 2)
        case("store to a block pointer", m, block.format("3, 4") +
             "tl.store(p, tl.full([4, 8], 77, x_ptr.dtype.element_ty), boundary_check=(0, 1))", 0, True)
    for a in ("f32", "f16", "i32"):
        m = [f"{a}.memory"]
        make = "d = tl.make_tensor_descriptor(x_ptr, [5, 7], [8, 1], [4, 8])\n"
        case("load of a tensor descriptor", m, make + "r0 = d.load([2, 0])")
        case("load of a tensor descriptor beyond the end", m, make + "r0 = d.load([2, 8])")
        case("load of a tensor descriptor before the beginning", m, make + "r0 = d.load([-2, -8])")
        for columns in (4, 5):
            narrow = make.replace("[5, 7]", f"[5, {columns}]")
            case(f"load of a tensor descriptor of {columns} columns", m, narrow + "r0 = d.load([2, 0])")
            case(f"store to a tensor descriptor of {columns} columns", m,
                 narrow + "d.store([3, 0], tl.full([4, 8], 77, x_ptr.dtype.element_ty))", 0, True)
        case("store to a tensor descriptor", m, make + "d.store([3, 0], tl.full([4, 8], 77, x_ptr.dtype.element_ty))", 0, True)
    # Atomics of one program: distinct elements, then elements that several lanes name.
    for a in ("i32", "i64", "f32", "f16", "bf16"):
        m = [f"{a}.memory", f"{a}.value", "i32.permuted"]
        operations = ["add"] + (["max", "min", "xchg", "cas"] if a in ("i32", "i64", "f32") else []) + (
            ["and", "or", "xor"] if a in ("i32", "i64") else [])
        for operation in operations:
            call = "tl.atomic_cas(x_ptr + z, old, y)" if operation == "cas" else f"tl.atomic_{operation}(x_ptr + z, y)"
            before = "old = tl.load(x_ptr + z)\nold = tl.where(tl.arange(0, 16) % 2 == 0, old, y)\n" if operation == "cas" else ""
            case(f"atomic_{operation}", m, f"{before}r0 = {call}", 1, True)
        case("atomic_add with a mask", m, "i = tl.arange(0, 16)\ntl.atomic_add(x_ptr + z, y, mask=i % 3 == 0)", 0, True)
        case("atomic_add to a scalar", m[:1], "r0 = tl.atomic_add(x_ptr + 3, 2)", 1, True)
    for a in ("i32", "i64"):
        for operation in ("add", "max", "min", "xor"):
            case(f"atomic_{operation} to elements that several lanes name", [f"{a}.memory", f"{a}.value", "i32.same"],
                 f"tl.atomic_{operation}(x_ptr + z, y)", 0, True)
    for operation in ("max", "min"):
        case(f"atomic_{operation}", ["f32.memory_edge", "f32.value_edge", "i32.permuted_16"],
             f"r0 = tl.atomic_{operation}(x_ptr + z, y)", 1, True)
    # Random numbers. Seed and offsets are in the name.
    for seed in ("0", "42", "2**31 - 1", "2**32 + 7", "2**40 + 1", "-5"):
        for offset in ("tl.arange(0, 8)", "tl.arange(0, 8) + (2**31 - 8)", "tl.arange(0, 8).to(tl.int64) + 2**32",
                       "tl.arange(0, 8).to(tl.int64) * (2**33 + 5) - 7"):
            name = f"({seed}, {offset})"
            body = f"o = {offset}\n"
            case(f"tl.randint4x{name}", ["iota.8"], body + f"r0, r1, r2, r3 = tl.randint4x({seed}, o)", 4)
            if seed in ("42", "2**32 + 7"):
                case(f"tl.randint{name}", ["iota.8"], body + f"r0 = tl.randint({seed}, o)")
                case(f"tl.rand{name}", ["iota.8"], body + f"r0 = tl.rand({seed}, o)")
                case(f"tl.randn{name}", ["iota.8"], body + f"r0 = tl.randn({seed}, o)")
                case(f"tl.rand4x{name}", ["iota.8"], body + f"r0, r1, r2, r3 = tl.rand4x({seed}, o)", 4)
                case(f"tl.randn4x{name}", ["iota.8"], body + f"r0, r1, r2, r3 = tl.randn4x({seed}, o)", 4)
    case("tl.rand(42, tl.arange(0, 8)) of 7 rounds", ["iota.8"], "r0 = tl.rand(42, tl.arange(0, 8), 7)")


def more_operands():
    operand("i32.whole_numbers", "i32", of([0, 1, 2, 3, 4, 7, 9, -1, -2, -3, -4, -7, 100, -100, 2**30, -(2**30)], "i32"))
    operand("i32.lanes_4x8", "i32", of([(i * 5 + i // 8) % 8 for i in range(32)], "i32"), [4, 8])
    operand("i32.rows_4x8", "i32", of([(i * 3 + i // 5) % 4 for i in range(32)], "i32"), [4, 8])
    operand("i32.bins", "i32", of([i * i % 7 for i in range(64)], "i32"))
    operand("i32.permuted_16", "i32", of([15, 1, 2, 3, 0, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 4], "i32"))


# ---- running ---------------------------------------------------------------------------------------------------

def kernel_text(inputs, body, results, name):
    lines = ["@triton.jit", f"def {name}(x_ptr, y_ptr, z_ptr, out, types):"]
    for letter, operand_name in zip("xyz", inputs):
        _, shape, values = OPERANDS[operand_name]
        load = f"tl.load({letter}_ptr + tl.arange(0, {values.numel()}))"
        lines.append(f"    {letter} = " + (load if len(shape) == 1 else f"tl.reshape({load}, {shape})"))
    lines += ["    " + line for line in body.split("\n")]
    lines += [f"    put(out, types, {i}, r{i})" for i in range(results)]
    return "\n".join(lines) + "\n"


def load_module(text):
    """Triton reads a kernel's source from its file."""
    path = Path(tempfile.gettempdir()) / f"kernels_{hashlib.sha1(text.encode()).hexdigest()[:16]}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_case(kernel, inputs, results, memory):
    tensors = [OPERANDS[name][2].clone().to(DEVICE) for name in inputs]
    padded = tensors + [tensors[0]] * (3 - len(tensors))
    out = torch.full((max(results, 1), MOST), -0x5A5A, dtype=torch.int64, device=DEVICE)
    types = torch.full((max(results, 1), 8), -1, dtype=torch.int32, device=DEVICE)
    kernel[(1,)](*padded, out, types)
    if DEVICE == "cuda":
        torch.cuda.synchronize()
    found = []
    for words, (code, rank, *shape) in zip(out.cpu().tolist()[:results], types.cpu().tolist()[:results]):
        shape = shape[:rank]
        name = CODES[code]
        count = int(np.prod(shape)) if shape else 1
        found.append([name, shape, written(words[:count], name)])
    if memory:
        name, shape, _ = OPERANDS[inputs[0]]
        found.append([name, shape, written(bits_of(tensors[0], name), name)])
    return found


def compile_case(kernel, inputs):
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    short = {torch.bool: "i1", torch.uint8: "u8", torch.int8: "i8", torch.int32: "i32", torch.int64: "i64",
             torch.float8_e4m3fn: "fp8e4nv", torch.float8_e5m2: "fp8e5", torch.float16: "fp16", torch.bfloat16: "bf16",
             torch.float32: "fp32"}
    names = list(inputs) + [inputs[0]] * (3 - len(inputs))
    signature = {f"{letter}_ptr": "*" + short[OPERANDS[n][2].dtype] for letter, n in zip("xyz", names)}
    signature |= {"out": "*i64", "types": "*i32"}
    attributes = {(i,): [["tt.divisibility", 16]] for i in range(5)}
    triton.compile(ASTSource(fn=kernel, signature=signature, attrs=attributes), target=GPUTarget("cuda", 90, 32))


def reason(error):
    """The last cause, its first line: places in generated files and addresses of objects say nothing."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line for line in str(error).strip().split("\n") if line.strip()]
    return f"{type(error).__name__}: {lines[-1].strip().split('; ')[0][:120] if lines else ''}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--join", nargs="+", type=Path)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--only", default="", help="cases whose name has this text")
    options = parser.parse_args()
    make_operands()
    more_operands()
    make_cases()
    if options.join:
        return join(options.join)
    if DEVICE == "cuda" and not options.compile:
        triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    index, parts = map(int, options.part.split("/"))
    chosen = [i for i in range(index, len(CASES), parts) if options.only in CASES[i][0]]
    text = HEADER + "".join("\n\n" + kernel_text(CASES[i][1], CASES[i][2], CASES[i][3], f"case_{i}") for i in chosen)
    module = load_module(text)
    versions = {"triton": triton.__version__, "torch": torch.__version__, "date": datetime.date.today().isoformat()}
    if DEVICE == "cuda" and not options.compile:
        versions |= {"gpu": torch.cuda.get_device_name(0), "cuda": torch.version.cuda}
    found = {}
    if options.out and options.out.exists():
        found = {int(k): v for k, v in json.loads(options.out.read_text())["cases"].items()}
    for i in chosen:
        if i in found:
            continue
        name, inputs, _, results, memory = CASES[i]
        kernel = getattr(module, f"case_{i}")
        if options.out:  # a compiler that aborts takes this process along: the next one goes on behind this case
            options.out.write_text(json.dumps({"versions": versions, "cases": found | {i: {"error": "aborts"}}}))
        try:
            if options.compile:
                print(f"{i} {name} {inputs}", end=" ", flush=True)
                compile_case(kernel, inputs)
                print("ok")
            else:
                found[i] = {"out": run_case(kernel, inputs, results, memory)}
        except Exception as error:  # what Triton refuses is part of the record
            found[i] = {"error": reason(error)}
            if options.compile:
                print(found[i]["error"])
    if options.out:
        options.out.write_text(json.dumps({"versions": versions, "cases": found}))


def join(files):
    found, versions = {}, {}
    for file in files:
        part = json.loads(file.read_text())
        versions = part["versions"]
        found |= {int(k): v for k, v in part["cases"].items()}
    missing = [CASES[i][0] for i in range(len(CASES)) if i not in found]
    if missing:
        sys.exit(f"{len(missing)} cases are in no file, {missing[0]} first")
    used = {name for i in found for name in CASES[i][1]}
    lines = ["# What Triton computes on a GPU. Made by make_reference.py; README.md has the format."]
    lines += [f"# {key}: {value}" for key, value in versions.items()]
    lines += [f"operand {name} {shown(t, s, written(bits_of(v, t), t))}" for name, (t, s, v) in OPERANDS.items()
              if name in used]
    for name in dict.fromkeys(CASES[i][0] for i in sorted(found)):
        lines.append(f"case {name}")
        refused = {}
        for i in sorted(found):
            if CASES[i][0] != name:
                continue
            operands = " ".join(CASES[i][1])
            if "error" in found[i]:
                backend = found[i]["error"].startswith(("RuntimeError", "aborts"))
                refused.setdefault("fails" if backend else "refused", []).append(operands)
            else:
                lines.append(f"{operands}: " + "; ".join(shown(*result) for result in found[i]["out"]))
        lines += [f"{how} {', '.join(operands)}" for how, operands in refused.items()]
    (HERE / "reference.txt").write_text("\n".join(lines) + "\n")


def shown(type_name, shape, elements):
    return f"{type_name}[{','.join(map(str, shape))}] {elements}"


if __name__ == "__main__":
    main()
