"""`honestone` commands on judges."""
