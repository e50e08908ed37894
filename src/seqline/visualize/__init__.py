"""What a model did, made visible."""
