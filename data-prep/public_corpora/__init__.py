"""WMT'14 and IWSLT'14: archives fetched and unpacked, lines split, pairs cleaned as the field does.

The steps and their order are those of fairseq's examples/translation/prepare-wmt14en2fr.sh,
prepare-wmt14en2de.sh and prepare-iwslt14.sh. ``recipes/`` says what is in which archive. Text of
one's own goes through the cleaning, too.
"""
