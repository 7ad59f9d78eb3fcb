"""Export of a trained model to a folder that transformers and lm-eval read:

yardstick export run=outputs/runs/rope-s0-1a2b3c4d to=my_model extension=yarn extension.factor=8
"""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from conf.errors import UsageError
from train.config.schema import Architecture
from train.errors import command_line
from train.inference.model_choice import ModelChoice

MODULE = "modeling_yardstick"
CLASSES = {"AutoConfig": "YardstickConfig", "AutoModelForCausalLM": "YardstickForCausalLM"}
STUB = """\"\"\"The model's code is that of the package yardstick, which must be installed.\"\"\"

import yardstick  # noqa: F401  (finds train)
"""
README = """# {name}

A model of Yardstick, trained at {length} tokens. With the package yardstick installed:

    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained("{folder}", trust_remote_code=True)
    tokenizer = AutoTokenizer.from_pretrained("{folder}", trust_remote_code=True)
    ids = tokenizer("def ", return_tensors="pt").input_ids
    print(tokenizer.decode(model.generate(ids, max_new_tokens=50)[0]))

    lm_eval --model hf --model_args pretrained={folder},trust_remote_code=True --tasks ...
"""


class ExportChoice(ModelChoice):
    to: str  # the folder to write


def export(run: Path, folder: Path, extension: str = "none", **parameters: Any) -> None:
    """Write the model of a run, under an extension, for transformers. Raise UsageError as `load` does."""
    if find_spec("transformers") is None:
        raise UsageError("An export needs the package transformers: python -m pip install transformers.")
    from safetensors.torch import save_file
    from transformers import GenerationConfig, PreTrainedTokenizerFast

    from train.inference.hugging_face import YardstickConfig
    from train.load import FileCodec, load

    loaded = load(run, extension, **parameters)
    if not loaded.model.causal:
        raise UsageError(
            "This model sees what comes after a token: transformers has no such class to export to."
        )
    settings = loaded.config.model_dump(mode="json", include=set(Architecture.model_fields))
    longest = loaded.model.limit or max(loaded.config.evaluation.at(loaded.config.model.length))
    folder.mkdir(parents=True, exist_ok=True)
    config = YardstickConfig(
        settings, extension=extension, parameters=parameters, architectures=[CLASSES["AutoModelForCausalLM"]],
        auto_map={name: f"{MODULE}.{kind}" for name, kind in CLASSES.items()},
        max_position_embeddings=longest,
    )  # fmt: skip
    config.save_pretrained(folder)
    imports = "".join(f"from train.inference.hugging_face import {kind}\n" for kind in CLASSES.values())
    (folder / f"{MODULE}.py").write_text(STUB + imports)
    # a tensor that two layers share is written twice, as the format knows no sharing
    weights = {f"model.{name}": tensor.clone() for name, tensor in loaded.model.state_dict().items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    generation: dict[str, Any] = {"use_cache": False}
    if isinstance(loaded.codec, FileCodec):
        end, known = loaded.codec.end, loaded.codec.vocab
        tokenizer = PreTrainedTokenizerFast(
            tokenizer_object=loaded.codec.model, eos_token=end, pad_token=end, model_max_length=longest
        )
        tokenizer.save_pretrained(folder)
        unknown = range(known, loaded.config.model.vocab)  # ids that no token has
        generation |= {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
        generation |= {"suppress_tokens": list(unknown)} if unknown else {}
    GenerationConfig(**generation).save_pretrained(folder)
    text = README.format(name=run.name, length=loaded.config.model.length, folder=folder)
    (folder / "README.md").write_text(text)


def entry() -> None:
    """Run `yardstick export` with the command line's arguments."""
    with command_line(__doc__):
        choice = ExportChoice.of_arguments(sys.argv[1:])
        export(Path(choice.run), Path(choice.to), choice.extension, **choice.parameters)
    if not (Path(choice.to) / "tokenizer.json").exists():
        print("It has no tokenizer: its tokens are the bytes of UTF-8, or no text.")
    print(f"Written to {choice.to}; its README says how to use it.")


if __name__ == "__main__":
    entry()
