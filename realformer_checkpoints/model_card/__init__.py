"""A model card: what the files of a training say about a model, in Markdown."""
