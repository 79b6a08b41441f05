"""A model card in Markdown, made from the files of a training."""
