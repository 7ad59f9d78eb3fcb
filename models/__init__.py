"""The model, and every way to tell it where a token stands."""

import models.encodings  # noqa: F401  first: the registry and the wrappers that it knows import each other
