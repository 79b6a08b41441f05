"""Fine-tuning of masked language models, and what is measured after it."""
