# Durations as people write them: "1h 30m", "45s", "2d".

import os, sys
from durations.parse import *
from durations.show import *

print("durations loaded")
