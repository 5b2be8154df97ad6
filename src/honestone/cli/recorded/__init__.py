"""`honestone` commands on recorded runs."""
