"""The local web page: what the store holds, read-only, for a browser on this machine."""
