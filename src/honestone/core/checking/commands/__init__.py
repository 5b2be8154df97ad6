"""What the words of a command run and judge by."""
