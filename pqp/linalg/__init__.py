"""Numbers, matrices and the structure of a Hessian."""
