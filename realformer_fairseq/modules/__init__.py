"""Encoder and decoder layers, and their building blocks."""
