"""What follows from part-worths: predictions, markets, willingness to pay."""
