"""What a user writes: affine data, Hessians, problems, formulas."""
