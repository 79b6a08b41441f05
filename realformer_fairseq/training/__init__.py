"""What fairseq-train does besides: ADMIN's profile, an optimizer, saving and resuming."""
