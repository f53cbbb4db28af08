"""Tests of PyTorch's modules about compiling, processes, devices and backends."""
