"""`honestone` commands for coding agents."""
