"""What is said to models: one Markdown file per kind of prompt, and the code that fills them in."""
