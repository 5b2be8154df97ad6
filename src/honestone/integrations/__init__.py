"""honestone inside other tools' programs, a module a tool; each works without its tool installed."""
