"""The laws on a run of one's own: what of it is looked at, and what is said where one fails."""
