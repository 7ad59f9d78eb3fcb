"""Export of a trained model to a folder that transformers and lm-eval read:

yardstick export run=outputs/runs/rope-s0-1a2b3c4d to=my_model extension=yarn extension.factor=8
"""

import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from conf.errors import UsageError
from data.cache import errors_name_file
from train.config.schema import Architecture
from train.errors import command_line
from train.inference.model_choice import ModelChoice

if TYPE_CHECKING:
    from train.load import TrainedModel

MODULE = "modeling_yardstick"
CLASSES = {"AutoConfig": "YardstickConfig", "AutoModelForCausalLM": "YardstickForCausalLM"}
STUB = '''"""The model's code is that of the package yardstick, which must be installed."""

from yardstick import {}
'''
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
    """Write the model of a run, under an extension, for transformers: whole, or not at all. Raise UsageError
    as `load` does."""
    if find_spec("transformers") is None:
        raise UsageError("An export needs the package transformers: python -m pip install transformers.")
    from train.load import load

    loaded = load(run, extension, **parameters)
    if not loaded.model.causal:
        raise UsageError(
            "This model sees what comes after a token: transformers has no such class to export to."
        )
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder, prefix=".export-") as part, errors_name_file(folder):
        write_model(loaded, Path(part), extension, parameters)
        text = README.format(name=run.name, length=loaded.config.model.length, folder=folder)
        Path(part, "README.md").write_text(text, encoding="utf-8")
        for file in sorted(Path(part).iterdir()):
            file.replace(folder / file.name)


def write_model(loaded: "TrainedModel", folder: Path, extension: str, parameters: dict[str, Any]) -> None:
    """Write configuration, code, weights and tokenizer of a model."""
    from safetensors.torch import save
    from transformers import GenerationConfig, PreTrainedTokenizerFast

    from train.inference.hugging_face import YardstickConfig

    settings = loaded.config.model_dump(mode="json", include=set(Architecture.model_fields))
    limit, sizes = loaded.model.limit, loaded.config.model  # limit: None where any length is defined
    config = YardstickConfig(
        settings, extension=extension, parameters=parameters, architectures=[CLASSES["AutoModelForCausalLM"]],
        auto_map={name: f"{MODULE}.{kind}" for name, kind in CLASSES.items()},
        **({} if limit is None else {"max_position_embeddings": limit}),
    )  # fmt: skip
    config.to_json_file(folder / "config.json")  # `save_pretrained` adds code once an export was loaded
    (folder / f"{MODULE}.py").write_text(STUB.format(", ".join(CLASSES.values())), "utf-8")
    weights = {f"model.{name}": tensor for name, tensor in loaded.model.state_dict().items()}
    if sizes.tied:
        del weights["model.head.weight"]  # is the embedding
    # the format knows no other sharing
    content = save({name: tensor.clone() for name, tensor in weights.items()}, metadata={"format": "pt"})
    (folder / "model.safetensors").write_bytes(content)
    generation: dict[str, Any] = {"use_cache": False}
    tokenizer = loaded.tokenizer
    if tokenizer and tokenizer.model:
        end = tokenizer.model.id_to_token(tokenizer.separator)  # of a document
        longest = {} if limit is None else {"model_max_length": limit}
        fast = PreTrainedTokenizerFast(
            tokenizer_object=tokenizer.model, eos_token=end, pad_token=end, **longest
        )
        fast.save_pretrained(folder)
        unknown = range(tokenizer.vocab, sizes.vocab)  # ids that no token has
        generation |= {"eos_token_id": fast.eos_token_id, "pad_token_id": fast.pad_token_id}
        generation |= {"suppress_tokens": list(unknown)} if unknown else {}
    GenerationConfig(**generation).save_pretrained(folder)


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
