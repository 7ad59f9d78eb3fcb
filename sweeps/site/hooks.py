"""Functions that MkDocs calls while it builds the site: they add the written pages and correct links."""

import re

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from models.registry import names
from sweeps.site.links import relink
from sweeps.site.pages import MOVED, method_navigation, pages
from train.paths import ROOT

NAMED = ("methods.md", "which-encoding.md")  # pages whose names of methods lead to their pages
NAME = re.compile(r"(?<!\[)`(\w+)(?:\+\d+)?`")
SOURCES = {page: source for source, page in MOVED.items() if source.endswith((".md", ".ipynb"))}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill in the entries of all methods."""
    config.nav = [{"Methods": [*entry["Methods"], *method_navigation()]} if "Methods" in entry else entry
                  for entry in config.nav or []]  # fmt: skip
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add every page that is written, not kept."""
    for path, content in pages():
        if path in files.src_uris:
            files.remove(files.src_uris[path])
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links to pages of the site, and in the tables of methods each name to its page."""
    path = page.file.src_uri
    source = ROOT / SOURCES.get(path, f"docs/{path}")
    text = relink(markdown, source, path, MOVED) if source.exists() else markdown
    return NAME.sub(method_link, text) if path in NAMED else text


def method_link(found: re.Match[str]) -> str:
    group = next((group for group in ("encoding", "extension") if found[1] in names(group)), None)
    return f"[{found[0]}]({group}/{found[1]}.md)" if group else found[0]
