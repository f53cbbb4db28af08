"""Stand before the package of this name in processes that tests start, as if that were not installed: tests/lean.py."""

raise ImportError("tests do without the formats of addresses")
