"""Everything that can be chosen: one folder a noun, one file a choice."""
