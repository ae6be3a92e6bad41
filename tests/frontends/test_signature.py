"""Parameter names come back from the source text, or are honestly not found."""

from __future__ import annotations

import pytest

from qgc.frontends.signature import SourceParam, kernel_params


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('extern "C" __global__ void k(const int *a, int* out) {}', "a* out*"),
        ("__global__ void __launch_bounds__(64) k(int n, unsigned int m) {}", "n m"),
        ("__launch_bounds__(64, 2) __global__ void k(int n) {}", "n"),
        ("__global__ void k() {}", ""),
        ("__global__ void k(void) {}", ""),
        ("template <int N> __global__ void k(int a[N], int (&b)[4], int n = f(1, 2)) {}", "a* b* n"),
        ("__global__ void k(pair<int, int> p, const int *__restrict__ q) {}", "p q*"),
        ("__global__ void k(int /* not (this, */ n, // or ) this\n int m) {}", "n m"),
        ("__global__ void k(int, int *) {}", "- -*"),
        ("__global__ void other(int x); __global__ void k(int y) { other(y); }", "y"),
        ('const char *s = "__global__ void k(int z)"; __global__ void k(int y) {}', "y"),
    ],
)
def test_names_and_pointers(source: str, expected: str) -> None:
    words = expected.split()
    want = tuple(SourceParam(w.rstrip("*").removeprefix("-"), w.endswith("*")) for w in words)
    assert kernel_params(source, "k") == want


@pytest.mark.parametrize(
    "source", ["", "__device__ void k(int a) {}", "KERNEL(k)(int a) {}", "__global__ void k(int a, int b"]
)
def test_what_is_not_there_is_not_invented(source: str) -> None:
    assert kernel_params(source, "k") is None
