"""Files, processes and the sandbox: what adapters and commands share about this machine."""
