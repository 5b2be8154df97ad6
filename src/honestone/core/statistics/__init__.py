"""Statistics of agreement between raters, and the distributions that their intervals need. Standard
library only.
"""
