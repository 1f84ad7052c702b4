"""Settings of all tests.

How long an example of hypothesis takes depends on the machine and on what it imports first, so there is no
deadline.
"""

import signal

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

# Shells make what they start in the background deaf to Ctrl-C, which some tests raise.
signal.signal(signal.SIGINT, signal.default_int_handler)
