"""An independent active-set path to check `pqp` against."""
