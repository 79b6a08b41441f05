"""Scores of translations, each with its signature."""
