"""`python -m pqp` is the command line.

Room: nothing of its own.
May touch: `cli`.
"""

import sys

from pqp.cli import main

sys.exit(main())
