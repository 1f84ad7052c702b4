"""`python -m ranking` is the command line.

Room: nothing of its own.
May touch: `cli`.
"""

import sys

from ranking.cli import main

sys.exit(main())
