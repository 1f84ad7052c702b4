"""`python -m ranking` is the command line."""

import sys

from ranking.cli.app import main

sys.exit(main())
