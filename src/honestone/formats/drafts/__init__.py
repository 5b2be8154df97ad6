"""Drafts from files of no known format: rubrics from tables, lists and trees, suites from tables of
cases.
"""
