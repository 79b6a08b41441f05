"""Conversion of our models' checkpoints."""
