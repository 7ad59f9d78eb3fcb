"""The places of the project's files."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONF, SWEEPS = ROOT / "conf", ROOT / "sweeps"
