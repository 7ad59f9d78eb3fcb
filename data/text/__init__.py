"""Documents of text become token ids, which `data.text.tokens.Text` reads."""
