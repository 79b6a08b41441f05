"""What ``--arch`` names: fairseq imports each file here by itself."""
