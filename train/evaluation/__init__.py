"""The evaluation of a trained model at every length: the loss of text, the accuracy of answers."""
