"""Settings of all tests: how long an example takes depends on the machine and on what it imports first."""

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
