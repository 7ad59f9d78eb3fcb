"""What a trained model does at every length: the loss of text, the accuracy of answers."""
