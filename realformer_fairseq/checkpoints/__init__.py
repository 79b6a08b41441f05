"""Checkpoint files: loading them safely, choosing, averaging and folding them."""
