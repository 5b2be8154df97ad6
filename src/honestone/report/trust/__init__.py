"""Reports on judges and raters, for people."""
