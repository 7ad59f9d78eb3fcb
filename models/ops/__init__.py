"""What the model and its methods compute with."""
