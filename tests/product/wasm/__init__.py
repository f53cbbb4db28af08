"""Run the same programs under WebAssembly: indices of 32 bits, no threads, no processes, no memory-mapped files."""
