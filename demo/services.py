"""Embeds the descriptions of 400 AWS services, from the package botocore.

The vectors are computed by latent semantic analysis: the weighted word counts of each text, projected
onto the directions in which the texts differ most (singular value decomposition). No model is
downloaded.
"""

from __future__ import annotations

import gzip
import html
import json
import re
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["QUESTIONS", "Embedder", "read_services", "texts_and_vectors"]

DIMENSIONS = 44
QUESTIONS = (
    "analyze data in a lake with sql",
    "train and deploy machine learning models",
    "send text messages and emails",
)
WORD = re.compile(r"[a-z]{3,}")
# Words in more than one of eight texts do not distinguish them.
COMMON = 8
NAME = re.compile(r'"serviceFullName"\s*:\s*("(?:[^"\\]|\\.)*")')
# The last key of a file. Matching it avoids parsing the whole file, which is large.
ABOUT = re.compile(
    r'"documentation"\s*:\s*("(?:[^"\\]|\\.)*")\s*(?:,\s*"\w+"\s*:\s*\{\s*\}\s*)?\}\s*$'
)


def read_services() -> pa.Table:
    """Return the name and the description of each service."""
    data = Path(str(distribution("botocore").locate_file("botocore/data")))
    found = {}
    for file in sorted(data.glob("*/*/service-2.json*")):
        raw = file.read_bytes()
        text = (gzip.decompress(raw) if file.suffix == ".gz" else raw).decode()
        name, about = NAME.search(text), ABOUT.search(text, max(0, len(text) - 20_000))
        if name and about:
            plain = html.unescape(re.sub(r"<[^>]+>", " ", json.loads(about[1])))
            found[json.loads(name[1])] = " ".join(plain.split())
    return pa.table({"service": list(found), "text": list(found.values())})


def words(text: str) -> list[str]:
    """Return the words of a text in lowercase, with plurals made singular."""
    return [_singular(word) for word in WORD.findall(text.lower())]


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word


class Embedder:
    """Converts texts to vectors; trained on a collection of texts."""

    def __init__(self, texts: list[str]) -> None:
        documents = [set(words(text)) for text in texts]
        counts: dict[str, int] = {}
        for document in documents:
            for word in document:
                counts[word] = counts.get(word, 0) + 1
        kept = sorted(word for word, n in counts.items() if 2 <= n <= len(texts) // COMMON)
        self._place = {word: number for number, word in enumerate(kept)}
        self._rarity = np.log(len(texts) / np.array([counts[word] for word in kept]))
        weighted = np.stack([self._weighted(text) for text in texts])
        # The singular vectors, computed from a square matrix with one row per text.
        squares, left = np.linalg.eigh(weighted @ weighted.T)
        largest = np.argsort(-squares)[:DIMENSIONS]
        self._axes = weighted.T @ (left[:, largest] / np.sqrt(squares[largest]))

    def _weighted(self, text: str) -> Any:
        row = np.zeros(len(self._place))
        for word in words(text):
            if word in self._place:
                row[self._place[word]] += 1
        return _normalized(np.log1p(row) * self._rarity)

    def vector(self, text: str) -> list[float]:
        """Return the vector of a text, of length 1 unless it contains no known word."""
        return [float(each) for each in _normalized(self._weighted(text) @ self._axes)]


def _normalized(vector: Any) -> Any:
    return vector / (np.linalg.norm(vector) or 1)


def texts_and_vectors() -> tuple[pa.Table, Embedder]:
    """Return the services with the vector of each text, and the embedder for questions."""
    services = read_services()
    embedder = Embedder([f"{row['service']} {row['text']}" for row in services.to_pylist()])
    vectors = [embedder.vector(f"{row['service']} {row['text']}") for row in services.to_pylist()]
    kind = pa.list_(pa.float32(), DIMENSIONS)
    return services.append_column("vector", pa.array(vectors, kind)), embedder
