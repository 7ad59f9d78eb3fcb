"""What any encoding can be given in addition, by a key of its own: `encoding.ssmax=true`."""
