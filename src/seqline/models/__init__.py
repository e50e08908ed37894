"""Encoders and decoders put together from parts; the shapes that recipes in `architectures` fill."""
