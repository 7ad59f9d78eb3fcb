"""The settings, the fit and the paper of a method, from its file in `conf/`."""

from functools import cache

from conf.choices import files
from models import registry, sources, table
from models.registry import ABOUT, names, read

fits_to = cache(registry.fits)


def settings(group: str, name: str) -> str:
    """Return the file of a method without its origin and its head comment."""
    lines = files(group)[name].read_text("utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith(("#", *(f"{key}:" for key in ABOUT))))


def example(group: str, name: str) -> str:
    """Return a command with the first parameter of a method."""
    chosen = f"encoding={name}" if group == "encoding" else f"encoding={host(name)} extension={name}"
    for key, value in read(group, name).items():
        if key not in ("_target_", *ABOUT) and not isinstance(value, dict | list):
            return f"yardstick {chosen} {group}.{key}={table.setting_text(value)}"
    return f"yardstick {chosen}"


def host(extension: str) -> str:
    """Return an encoding that an extension fits: RoPE if it does."""
    fitting = [name for name in names("encoding") if fits_to(extension, name)]
    return "rope" if "rope" in fitting else fitting[0]


def fits(group: str, name: str) -> str:
    """Return the extensions that fit an encoding, or the encodings that an extension fits."""
    if group == "encoding":
        fitting = [extension for extension in names("extension") if fits_to(extension, name)]
        return f"Extensions that fit: {page_links('extension', fitting)}."
    fitting = [encoding for encoding in names("encoding") if fits_to(name, encoding)]
    is_every = len(fitting) == len(names("encoding"))
    return "Fits every encoding." if is_every else f"Fits {page_links('encoding', fitting)}."


def page_links(group: str, methods: list[str]) -> str:
    return ", ".join(f"[`{name}`](../{group}/{name}.md)" for name in methods)


def bibtex(group: str, name: str) -> str:
    """Return the address of arXiv's BibTeX entry for the paper of a method; empty if it is not on arXiv."""
    link = sources.paper_and_link(group, name)[1]
    return link.replace("/abs/", "/bibtex/") if "arxiv.org/abs/" in link else ""
