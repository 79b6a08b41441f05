"""Build an English-French parallel corpus from Debian packages, with the ordinary apt client."""
