"""The file of a SQLite store: how it is opened, read while it changes, and made safe to read."""
