"""What all models share: validation, labels, kernels, preferences."""
