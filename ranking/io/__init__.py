"""Files of ranking data."""
