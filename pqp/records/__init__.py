"""What the engines return: pieces, residuals, the compressed trail."""
