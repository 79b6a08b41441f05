"""Translating with a trained model, from the command line and from Python."""
