"""Check faults around the library: interrupts, full memory and disks, missing and broken programs."""
