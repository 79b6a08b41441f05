"""WMT'14 corpora: archives fetched and unpacked, lines split, pairs cleaned as the field does it.

The steps and their order are those of fairseq's examples/translation/prepare-wmt14en2fr.sh and
prepare-wmt14en2de.sh. ``recipes/`` says what is in which archive.
"""
