"""The skill pipeline."""
