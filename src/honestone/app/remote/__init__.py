"""Suites whose cases are run by runners on other machines: the order, the coordinator that watches
it, the runner's side.
"""
