"""Additions to fairseq-train: ADMIN's profile, an optimizer, saving and resuming."""
