"""A synchronous English-French grammar that writes a small parallel corpus.

The grammar samples one abstract structure per sentence (:mod:`.structure`) and realises it in
English (:mod:`.english_sentence`) and in French (:mod:`.french_sentence`).  Nothing is downloaded
and nothing depends on the Python version, the platform or the hash seed: the same seed always
gives the same bytes.
"""
