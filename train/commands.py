"""`yardstick <command> ...` runs a command by its name; `yardstick key=value ...` trains."""

import os
import runpy
import sys

from conf.errors import no_choice
from train.runtime.process import set_environment

COMMANDS = {  # module, what it does, an example
    "train": ("train", "train and evaluate one encoding, or a sweep of many", "encoding=alibi"),
    "evaluate": ("train.evaluate", "evaluate a trained run again", "run=outputs/runs/<run> extension=yarn"),
    "diagnose": ("train.diagnose", "show why a model fails beyond its training length",
                 "run=outputs/runs/<run>"),
    "audit": ("sweeps.audit", "show what the positions of a checkpoint mean, and what context is worth to it",
              "model=<folder, Hub name or .gguf file>"),
    "new": ("train.methods.new", "write a method of your own, ready to run", "my_bias to=methods"),
    "check": ("train.methods.check", "check what the class of a method declares", "my_bias methods=methods"),
    "sample": ("train.inference.sample", "continue a text with a trained model",
               'run=outputs/runs/<run> prompt="def "'),
    "export": ("train.inference.export", "write a trained model for transformers and lm-eval",
               "run=outputs/runs/<run> to=my_model"),
    "reproduce": ("train.reproduce", "run a finished run again and compare", "run=outputs/runs/<run>"),
    "report": ("sweeps.report", "rebuild the tables and figures of a sweep", "outputs/sweeps/encodings"),
    "compare": ("sweeps.compare", "compare any two methods, extensions, runs or folders", "alibi rope at=8x"),
    "plan": ("sweeps.plan", "estimate the cost of a sweep", "sweeps=encodings_gpu gpus=64 throughput=400000"),
    "gallery": ("sweeps.gallery", "draw every method on one page", ""),
}  # fmt: skip


def entry() -> None:
    """Run the command that the first argument names; if there is none, train."""
    set_environment()
    first, rest = (sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else ("help", [])
    if first in ("help", "--help", "-h"):
        print(help_text())
        return
    if first == "-sc":
        first, rest = complete_command(), sys.argv[1:]
    elif first not in COMMANDS:
        if first.isalpha():
            print(f"yardstick: {no_choice('command', first, COMMANDS)}", file=sys.stderr)
            sys.exit(2)
        first, rest = "train", sys.argv[1:]
    sys.argv[1:] = rest
    runpy.run_module(COMMANDS[first][0], run_name="__main__")


def complete_command() -> str:
    """Print the commands for a shell's completion, and return the command whose settings it may complete."""
    program, *words = os.environ.get("COMP_LINE", "").split(" ")
    if len(words) < 2:
        print(*COMMANDS)
    elif words[0] in COMMANDS:
        os.environ["COMP_LINE"] = " ".join([program, *words[1:]])
        return words[0]
    return "train"


def help_text() -> str:
    """Return one line for each command, and an example."""
    lines = ["Usage: yardstick [command] ...", ""]
    for name, (_, purpose, example) in COMMANDS.items():
        lines += [f"  {name:<10} {purpose}", f"  {'':<10}   yardstick {name} {example}".rstrip()]
    return "\n".join([
        *lines, "",
        "Settings are key=value, as in conf/:  yardstick encoding=rope extension=yarn extension.factor=8",
        "Sweeps are files of sweeps/:          yardstick sweeps=encodings encoding=alibi,rope seed=0,1",
        'Tab completion:                       eval "$(yardstick -sc install=bash)"',
    ])  # fmt: skip
