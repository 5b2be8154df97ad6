"""Other tools' files, one module a format. `recognise` chooses by content; every reader is strict: unknown keys are errors."""
