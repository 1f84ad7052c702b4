"""An independent, exact checker of paths; it imports nothing else of `pqp` but its errors."""

from pqp.certificate.checker import Certificate, check

__all__ = ["Certificate", "check"]
