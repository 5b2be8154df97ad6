"""The shells around core: they carry out what core decides, and keep a record before they use it."""
