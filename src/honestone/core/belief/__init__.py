"""What is believed about the truth of versions, from all votes on them: pure arithmetic, no
randomness.
"""
