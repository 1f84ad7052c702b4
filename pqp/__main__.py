"""`python -m pqp` is the command line."""

import sys

from pqp.cli.app import main

sys.exit(main())
