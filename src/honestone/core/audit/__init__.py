"""Questions whose answers are known, made from a person's own rubric and artifact, and what a
judge's answers to them come to.
"""
