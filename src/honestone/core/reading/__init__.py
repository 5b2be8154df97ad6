"""From the text that a judge printed to answers."""
