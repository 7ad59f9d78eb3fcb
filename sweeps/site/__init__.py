"""The site: the pages of `docs/`, and pages written from code and rows, for MkDocs (`make site`)."""
