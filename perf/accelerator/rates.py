#!/usr/bin/env python3
"""Measures rates of matrix products, functions of rows and attention on an NVIDIA GPU, with PyTorch.

  rates.py --out rates.json     (the parts that take long one by one: --only gemm, rows, compiled, …)

Times are medians of replays of a CUDA graph that holds several calls over several sets of operands, so that neither the
host nor the second cache is what is measured. Shares are of the data sheet's dense rates (H100 SXM, boost clock) and of
the memory's nominal bandwidth.
"""

import argparse
import json
import statistics
import subprocess
import threading
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

# source: NVIDIA H100 Tensor Core GPU data sheet, SXM5, without sparsity.
PEAKS = {"bf16": 989.4e12, "f16": 989.4e12, "fp8": 1978.9e12, "tf32": 494.7e12}
BANDWIDTH = 3.35e12
RESULTS = []


def report(what, microseconds, **more):
    line = {"what": what, "us": round(microseconds, 3)} | more
    RESULTS.append(line)
    print(json.dumps(line), flush=True)


def attempt(function, *arguments, **options):
    try:
        function(*arguments, **options)
    except Exception as error:  # a figure less is no reason to lose the others
        line = {"what": f"{function.__name__} {arguments} {options}", "error": str(error).split("\n")[0][:200]}
        RESULTS.append(line)
        print(json.dumps(line), flush=True)


def time_of(calls, repeats=15):
    """Median time of one call in us: the calls are captured into one graph, which is replayed."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for call in calls:
            call()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            call()
    graph.replay()
    torch.cuda.synchronize()
    times = []
    for _ in range(repeats):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / len(calls))
    del graph
    return statistics.median(times)


class Clock:
    """The multiprocessors' clock and the power while something runs: what a product attains depends on both."""

    def __enter__(self):
        self.samples, self.done = [], threading.Event()
        self.thread = threading.Thread(target=self.sample)
        self.thread.start()
        return self

    def sample(self):
        while not self.done.is_set():
            answer = subprocess.run(["nvidia-smi", "--query-gpu=clocks.sm,power.draw", "--format=csv,noheader,nounits"],
                                    capture_output=True, text=True, check=False).stdout
            self.samples.append(answer.strip())

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()


def sustained(kind, size, seconds=2.0):
    """The clock while products of one size follow each other for a while."""
    dtype = {"bf16": torch.bfloat16, "fp8": torch.float8_e4m3fn}[kind]
    a, b = (torch.randn(size, size, device="cuda").to(dtype) for _ in range(2))
    one = torch.ones((), device="cuda")
    call = (lambda: torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16)) if kind == "fp8" else (lambda: a @ b.t())
    call()
    torch.cuda.synchronize()
    count, begin = 0, time.perf_counter()
    with Clock() as clock:
        while time.perf_counter() - begin < seconds:
            for _ in range(20):
                call()
            torch.cuda.synchronize()
            count += 20
        spent = time.perf_counter() - begin
    flops = 2.0 * size**3 * count / spent
    report(f"{kind} product {size} x {size} x {size} for {seconds} s", spent / count * 1e6, tflops=round(flops / 1e12, 1),
           share_of_peak=round(flops / PEAKS[kind], 3), clock_and_power=clock.samples[len(clock.samples) // 2])


def product(kind, m, n, k):
    flops, sets = 2.0 * m * n * k, 4
    width = {"bf16": 2, "f16": 2, "fp8": 1, "tf32": 4}[kind]
    dtype = {"bf16": torch.bfloat16, "f16": torch.float16, "fp8": torch.float8_e4m3fn, "tf32": torch.float32}[kind]
    torch.backends.cuda.matmul.allow_tf32 = True
    draw = lambda *shape: torch.randn(*shape, device="cuda").to(dtype)  # noqa: E731
    a = [draw(m, k) for _ in range(sets)]
    b = [draw(n, k).t() for _ in range(sets)]  # as linear() has its weights
    if kind == "fp8":
        one = torch.ones((), device="cuda")
        calls = [lambda i=i: torch._scaled_mm(a[i], b[i], one, one, out_dtype=torch.bfloat16) for i in range(sets)]
    else:
        calls = [lambda i=i: a[i] @ b[i] for i in range(sets)]
    count = max(1, min(8, int(2e-3 / max(flops / PEAKS[kind], 1e-5))))
    us = time_of(calls * count)
    moved = (m * k + k * n) * width + m * n * (2 if kind != "tf32" else 4)
    report(f"{kind} product {m} x {n} x {k}", us, tflops=round(flops / us / 1e6, 1),
           share_of_peak=round(flops / us * 1e6 / PEAKS[kind], 3), share_of_bandwidth=round(moved / us * 1e6 / BANDWIDTH, 3))


def rows(name, shape, compiled=False):
    count = 1
    for extent in shape:
        count *= extent
    sets = max(2, min(64, int(400e6 / (2 * count))))
    x = [torch.randn(*shape, device="cuda", dtype=torch.float16) for _ in range(sets)]
    weight = torch.ones(shape[-1], device="cuda", dtype=torch.float16)
    functions = {"softmax": lambda t: torch.softmax(t, -1), "layer_norm": lambda t: F.layer_norm(t, shape[-1:], weight, weight),
                 "add": lambda t: t + t, "gelu": lambda t: F.gelu(t), "sum": lambda t: t.sum(-1)}
    function = torch.compile(functions[name], dynamic=False) if compiled else functions[name]
    us = time_of([lambda t=t: function(t) for t in x])
    moved = 2 * count * (1 if name == "sum" else 2)
    report(f"{name} of {list(shape)} f16{', compiled' if compiled else ''}", us, share_of_bandwidth=round(moved / us * 1e6 / BANDWIDTH, 3))


def attention(backend, sequence, causal, heads=32, batch=1, width=128):
    q, k, v = (torch.randn(batch, heads, sequence, width, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    with sdpa_kernel(getattr(SDPBackend, backend)):
        us = time_of([lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal)] * 4)
    flops = 4.0 * batch * heads * sequence * sequence * width / (2 if causal else 1)
    report(f"attention, {heads} heads of {sequence} x {width}, bf16, {'causal' if causal else 'all keys'}, {backend}", us,
           tflops=round(flops / us / 1e6, 1), share_of_peak=round(flops / us * 1e6 / PEAKS["bf16"], 3))


def decoding(backend, batch, keys, heads=64, key_heads=8, width=128, grouped=True):
    """One new token for each sequence. The query heads that share a head of keys stand in for rows of one query."""
    sets = max(1, min(8, int(300e6 / (batch * key_heads * keys * width * 4)) + 1))
    group = heads // key_heads
    shape = (batch, key_heads, group, width) if grouped else (batch, heads, 1, width)
    q = torch.randn(*shape, device="cuda", dtype=torch.bfloat16)
    k = [torch.randn(batch, key_heads, keys, width, device="cuda", dtype=torch.bfloat16) for _ in range(sets)]
    v = [torch.randn(batch, key_heads, keys, width, device="cuda", dtype=torch.bfloat16) for _ in range(sets)]
    with sdpa_kernel(getattr(SDPBackend, backend)):
        us = time_of([lambda i=i: F.scaled_dot_product_attention(q, k[i], v[i], enable_gqa=not grouped)
                      for i in range(sets)] * 2)
    moved = 2.0 * batch * key_heads * keys * width * 2
    report(f"decoding, {batch} sequences of {keys} keys, {heads} query heads over {key_heads}, "
           f"{'rows of a group' if grouped else 'enable_gqa'}, {backend}", us, share_of_bandwidth=round(moved / us * 1e6 / BANDWIDTH, 3))


def host():
    """What a call costs the host in steady state, while the device keeps up."""
    x = torch.ones(64, device="cuda")
    y = torch.ones(64, device="cuda")
    for what, call in (("torch.add of 64 elements, given out", lambda: torch.add(x, y, out=y)), ("x + y of 64 elements", lambda: x + y)):
        for _ in range(200):
            call()
        times = []
        for _ in range(100):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(200):
                call()
            times.append((time.perf_counter() - begin) / 200 * 1e6)
        report(f"host time of {what}", statistics.median(times))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", default="gemm,rows,compiled,attention,decoding,host")
    options = parser.parse_args()
    RESULTS.append({"gpu": torch.cuda.get_device_name(0), "torch": torch.__version__, "cuda": torch.version.cuda,
                    "cudnn": torch.backends.cudnn.version()})
    torch.manual_seed(1)
    for part in options.only.split(","):
        if part == "gemm":
            for kind in ("bf16", "fp8", "tf32"):
                for size in (2048, 4096, 8192, 4097):
                    attempt(product, kind, size, size, size)
                for m in (1, 8, 16):
                    attempt(product, kind, m, 8192, 8192)
            attempt(product, "bf16", 4096, 14336, 4096)
            attempt(sustained, "bf16", 8192)
            attempt(sustained, "fp8", 8192)
        elif part == "rows":
            for shape in ((1024, 1024), (4096, 4096), (16384, 4096), (65536, 128), (129, 32768), (1, 1048576)):
                for name in ("softmax", "layer_norm", "gelu", "sum"):
                    attempt(rows, name, shape)
        elif part == "compiled":
            for shape in ((1024, 1024), (4096, 4096), (16384, 4096), (65536, 128), (129, 32768)):
                for name in ("softmax", "layer_norm"):
                    attempt(rows, name, shape, compiled=True)
        elif part == "attention":
            for backend in ("FLASH_ATTENTION", "CUDNN_ATTENTION"):
                for causal in (False, True):
                    attempt(attention, backend, 4096, causal)
        elif part == "decoding":
            for backend in ("FLASH_ATTENTION", "CUDNN_ATTENTION", "EFFICIENT_ATTENTION", "MATH"):
                for batch, keys in ((1, 4096), (1, 32768), (32, 4096)):
                    for grouped in (True, False):
                        attempt(decoding, backend, batch, keys, grouped=grouped)
        elif part == "host":
            attempt(host)
        torch.cuda.empty_cache()
        if options.out:
            options.out.write_text("\n".join(map(json.dumps, RESULTS)) + "\n")


if __name__ == "__main__":
    main()
