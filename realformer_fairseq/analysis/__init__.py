"""Pictures and tables of trained models: their attention and their scores."""
