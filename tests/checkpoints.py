"""A small random Llama, saved as transformers saves checkpoints."""

from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast


def save_small_llama(folder: Path, seed: int = 0) -> Path:
    """Return the folder with a configuration, weights in safetensors and a tokenizer of words."""
    torch.manual_seed(seed)
    config = AutoConfig.for_model(
        "llama", vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, intermediate_size=48, max_position_embeddings=64, rope_theta=1e4,
    )  # fmt: skip
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    words = {word: number for number, word in enumerate(["<end>", *(f"w{n}" for n in range(63))])}
    inner = Tokenizer(models.WordLevel(words, unk_token="w0"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<end>").save_pretrained(folder)
    return folder


def save_documents(file: Path) -> Path:
    """Return the file of forty documents of 400 random words."""
    draw = torch.Generator().manual_seed(0)
    lines = (" ".join(f"w{n}" for n in torch.randint(1, 63, (400,), generator=draw)) for _ in range(40))
    file.write_text("text\n" + "\n".join(lines))
    return file
