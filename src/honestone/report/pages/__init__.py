"""Documents as HTML and Markdown pages."""
