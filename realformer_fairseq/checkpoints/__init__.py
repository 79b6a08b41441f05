"""Checkpoints of our models turned into other ones."""
