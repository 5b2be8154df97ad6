"""Other tools' files, a folder a tool. `recognise` chooses by content; every reader is strict:
unknown keys are errors.
"""
