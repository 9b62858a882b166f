"""Kernels that several methods share: loops over plain arrays, compiled by Numba, without side effects."""
