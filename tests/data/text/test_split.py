"""No text is both trained on and evaluated."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import data
from data.text.documents import clean
from data.text.tokens import Text

Listing = dict[str, tuple[str, str]]


def listing(source: Text) -> Listing:
    """Return source -> (part, sha256), from the listing next to the ids."""
    rows = [line.split("\t") for line in (source.folder / "documents.tsv").read_text().splitlines()]
    return {place: (part, key) for part, key, place in rows}


@pytest.fixture
def split(settings: Callable[..., dict], tmp_path: Path) -> Callable[..., Text]:
    def load(path: Path, **changes: Any) -> Text:
        chosen = settings("files", **({"tokenizer": "bytes", "path": str(path)} | changes))
        return data.load(chosen, 256, tmp_path / "cache")

    return load


def parts(source: Text) -> dict[str, set[str]]:
    """Return the texts of each part, cut out of the ids (bytes) at the separators."""
    texts = {name: getattr(source, name).astype("uint8").tobytes() for name in ("training", "held_out")}
    return {name: set(text.decode().split("\0")[:-1]) for name, text in texts.items()}


def test_the_parts_share_nothing_and_lose_nothing(books: Path, split: Callable[..., Text]) -> None:
    found = parts(split(books, held_out=0.3))
    assert found["training"]
    assert found["held_out"]
    assert not found["training"] & found["held_out"]
    assert found["training"] | found["held_out"] == {file.read_text() for file in books.rglob("*.txt")}


def test_a_copy_is_dropped_wherever_it_lies(books: Path, split: Callable[..., Text]) -> None:
    """Fifty copies have other names, whose hashes would put some of them into the other part."""
    held_out = [place for place, (part, _) in listing(split(books)).items() if part == "held_out"]
    for number in range(50):
        for name in held_out:
            copy = books / "copies" / f"{number}-{Path(name).name}"
            copy.parent.mkdir(exist_ok=True)
            copy.write_bytes((books / name).read_bytes().replace(b"\n", b"\r\n"))
    source = split(books)
    found = parts(source)
    assert not found["training"] & found["held_out"]
    assert sum(len(texts) for texts in found.values()) == len(listing(source)) == 40


def test_other_files_do_not_move_a_file(
    books: Path, split: Callable[..., Text], prose: Callable[[int, int], str]
) -> None:
    before = listing(split(books, held_out=0.2))
    for number in range(100, 130):
        (books / f"{number}.txt").write_text(prose(50, number))
    after = listing(split(books, held_out=0.2))
    assert {place: after[place] for place in before} == before


def test_the_folder_does_not_matter(books: Path, split: Callable[..., Text]) -> None:
    before = split(books)
    moved = books.rename(books.with_name("moved"))
    assert split(moved).fingerprint == before.fingerprint
    assert split(moved / "**/*.txt").fingerprint == before.fingerprint


def test_a_limit_holds_for_training_alone(books: Path, split: Callable[..., Text]) -> None:
    whole, limited = split(books), split(books, limit=0.02)
    assert parts(limited)["held_out"] == parts(whole)["held_out"]
    (cut,) = parts(limited)["training"] - parts(whole)["training"]
    assert any(text.startswith(cut) for text in parts(whole)["training"])
    assert sum(map(len, parts(limited)["training"])) == 20_000


def test_a_single_file_is_cut_at_a_line(
    tmp_path: Path, split: Callable[..., Text], prose: Callable[[int, int], str]
) -> None:
    file = tmp_path / "book.txt"
    file.write_text("\n".join(prose(12, number) for number in range(200)))
    source = split(file)
    begin, end = parts(source)["training"].pop(), parts(source)["held_out"].pop()
    assert begin + end == file.read_text()
    assert begin.endswith("\n")
    assert len(end) == pytest.approx(0.1 * len(begin + end), abs=100)


def test_two_files_give_one_to_each_part(tmp_path: Path, split: Callable[..., Text]) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/a.txt").write_text("one text\n")
    (tmp_path / "texts/b.txt").write_text("another text\n")
    (tmp_path / "texts/blank.txt").write_text(" \n\n")
    found = parts(split(tmp_path / "texts", held_out=0.01))
    assert sorted(map(len, found.values())) == [1, 1]


def test_too_little_to_split_is_refused(tmp_path: Path, split: Callable[..., Text]) -> None:
    file = tmp_path / "short.txt"
    file.write_text("x")
    with pytest.raises(
        ValueError, match="has no text left to hold out: distinct documents are too few \\(1\\)"
    ):
        split(file)
    file.write_text(" \n \n")
    with pytest.raises(ValueError, match=r"There is no text in .*short.txt"):
        split(file)
    file.write_text("some words")
    with pytest.raises(ValueError, match="There is no text of at least 100 characters"):
        split(file, shortest=100)


DIRTY = ["one\r\ntwo\rthree", "\ufeffwith a mark", "a\0b", "half of a pair \ud800 here"]


@pytest.mark.parametrize("text", DIRTY)
def test_a_prompt_is_cleaned_as_a_corpus_is(text: str, tmp_path: Path, split: Callable[..., Text]) -> None:
    rows = [{"text": f"{text} {number}"} for number in range(20)]
    (tmp_path / "rows.json").write_text(json.dumps(rows).replace("\\ud800", "?"))
    found = parts(split(tmp_path / "rows.json"))
    prompts = {clean(row["text"]) for row in rows}
    assert prompts == found["training"] | found["held_out"]
