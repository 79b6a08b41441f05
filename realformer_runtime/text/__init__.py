"""Raw text to subwords and back: Moses tokenisation and byte pair encoding."""
