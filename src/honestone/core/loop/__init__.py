"""The improvement loop as pure functions: state, decision, focus, proposals."""
