"""The stages of the skill pipeline, a module each, and what they share."""
