"""PaperBench rubric trees."""
