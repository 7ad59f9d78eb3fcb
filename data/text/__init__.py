"""Documents of text to token ids; `data.text.tokens.Text` is what they become."""
