"""A synchronous English-French grammar that writes a small parallel corpus.

``sampling`` and ``patterns`` draw what a sentence says (``structure``) from the lexicon (``nouns``,
``verbs``); ``english`` and ``french_clauses`` say it. The same seed gives the same bytes on every
machine.
"""
