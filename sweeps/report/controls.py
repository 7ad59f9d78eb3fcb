"""What a curve is held against: the same model with no more context than in training."""

from typing import Any

CONTROLS = {"crop": "dotted", "window": "dashed"}  # and how their thin lines look


def controls(setting: dict[str, Any], name: str) -> dict[str, list[float | None]]:
    """The losses of a method under each control that was evaluated; crop with its full context, where that is
    known."""
    found = {}
    for control in CONTROLS:
        protocol = setting["crop"] if control == "crop" else setting["protocol"]
        curves = setting["protocols"][protocol][setting["metric"]]
        own = curves["methods"].get(name, {}).get(control)
        if own and curves["lengths"] == setting["lengths"]:
            found[control] = own["value"]
    return found


def legend(setting: dict[str, Any]) -> str:
    """What the thin lines are."""
    shown = {control for name in setting["methods"] for control in controls(setting, name)}
    named = [f"{control} ({style})" for control, style in CONTROLS.items() if control in shown]
    return f"thin: {', '.join(named)}" if named else ""
