"""The methods, one file each; `conf/encoding/` and `conf/extension/` are their registry."""

from models.registry import extend, extensions, layers, load, names

__all__ = ["extend", "extensions", "layers", "load", "names"]
