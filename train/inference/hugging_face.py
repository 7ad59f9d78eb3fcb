"""A trained model as a class of transformers, whose folder `yardstick export` writes."""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers import GenerationMixin, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput

from train.build import build_gpt, extend_gpt
from train.config.schema import Architecture
from train.config.trained_run import check_classes


class YardstickConfig(PreTrainedConfig):
    """The settings of the model, of its encoding and of the extension around it."""

    model_type = "yardstick"

    def __init__(self, architecture: dict[str, Any] | None = None, **others: Any) -> None:
        self.architecture = architecture
        self.extension: str = others.pop("extension", "none")
        self.parameters: dict[str, Any] = others.pop("parameters", {})  # of the extension
        if architecture is not None:  # what other programs ask for
            sizes = architecture["model"]
            self.vocab_size, self.hidden_size = sizes["vocab"], sizes["width"]
            self.num_hidden_layers, self.num_attention_heads = sizes["depth"], sizes["heads"]
            others["tie_word_embeddings"] = sizes["tied"]
        super().__init__(**{"use_cache": False} | others)


class YardstickForCausalLM(PreTrainedModel, GenerationMixin):
    """A GPT with any positional encoding; padding, left or right, is not seen."""

    config_class = YardstickConfig
    _tied_weights_keys: ClassVar = {"model.head.weight": "model.embed.weight"}
    _input_embed_layer = "embed"

    def __init__(self, config: YardstickConfig) -> None:
        """Build the model. Raise UsageError if config.json names a class that no file of `conf/` names."""
        super().__init__(config)
        settings = config.architecture or {}
        check_classes(settings | {"extension": config.parameters}, f"{config.name_or_path}/config.json")
        with torch.device("cpu"):  # not on the meta device, where an encoding's constants would be lost
            architecture = Architecture.of(settings)
            model = build_gpt(architecture)
            self.model = extend_gpt(model, config.extension, config.parameters, architecture.seed)
        self.post_init()

    def get_output_embeddings(self) -> nn.Module:
        return self.model.head

    def prepare_inputs_for_generation(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, **others: Any
    ) -> dict[str, Any]:
        """Return the whole text for each token: a cache would serve only rows without padding."""
        return {"input_ids": input_ids, "attention_mask": attention_mask}

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        **others: Any,
    ) -> CausalLMOutput:
        """Return logits (B, T, vocab), zero at padding, and with labels the loss."""
        if attention_mask is None or bool(attention_mask.all()):
            logits = self.model(input_ids)
        else:
            logits = torch.zeros(*input_ids.shape, self.config.vocab_size, device=input_ids.device)
            for row, (ids, mask) in enumerate(zip(input_ids, attention_mask.bool(), strict=True)):
                logits[row, mask] = self.model(ids[mask][None])[0].to(logits.dtype)
        loss = None
        if labels is not None:
            loss = self.loss_function(logits, labels, vocab_size=self.config.vocab_size)
        return CausalLMOutput(loss=loss, logits=logits)
