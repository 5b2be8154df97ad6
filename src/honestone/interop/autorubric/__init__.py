"""autorubric files."""
