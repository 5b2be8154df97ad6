"""Tools on a server that take a finished run."""
