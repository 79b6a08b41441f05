"""Scores of translations, with signatures."""
