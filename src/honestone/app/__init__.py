"""Use cases, one a file: a request in, a typed result out. No terminal, no argv, no current folder."""
