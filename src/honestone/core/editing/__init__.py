"""An edit of a loop, and how a loop ended."""
