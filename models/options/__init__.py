"""Additions to any encoding, each by a key of its own: `encoding.ssmax=true`."""
