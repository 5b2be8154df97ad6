"""`python -m honestone.evaluate` runs `compat.evaluate`; called as a function, this module is
`honestone.evaluate`.
"""

import sys

from honestone.compat.evaluate import CallableModule, main

sys.modules[__name__].__class__ = CallableModule

if __name__ == "__main__":
    main()
