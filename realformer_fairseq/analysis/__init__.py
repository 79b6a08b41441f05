"""Pictures and tables of what a training or a trained model is like."""
