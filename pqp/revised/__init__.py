"""Engine 2: parametric pivoting on a factorised basis."""
