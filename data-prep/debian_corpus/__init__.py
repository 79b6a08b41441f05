"""Build an English-French parallel corpus from Debian packages, with the ordinary apt client.

Run it with ``python -m debian_corpus --out OUT --cache CACHE``. Nothing is installed and no system
file is touched: package lists and packages are fetched into CACHE and read there.
"""
