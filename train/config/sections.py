"""The sections of a run's settings, whose values come from the folders of `conf/`."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from conf.choices import files
from conf.errors import UsageError, no_choice
from models.bounds import LONGEST, Count, Share
from train.config.validation import Natural, Quantity, Section
from train.results.protocols import BY_POSITION, COPYING, KEY_TOKENS, PROTOCOLS, REPLACED

CONTROLS = ("crop", "window")  # extensions that a claim to use longer context must beat
LIST = Field(strict=False, min_length=1)
Beta = Annotated[float, Field(ge=0, lt=1)]
SmallCount = Annotated[int, Field(ge=1, le=1024)]  # processes, threads
Name = Annotated[str, Field(pattern=r"^[\w+.-]*\w$")]
Names = Annotated[tuple[str, ...], Field(strict=False)]


class ModelConfig(Section):
    vocab: Natural
    width: Annotated[int, Field(ge=1, le=10**6)]
    depth: Annotated[int, Field(ge=1, le=1000)]
    heads: Natural
    length: Count  # tokens of a training sequence
    norm: Literal["rms", "layer"]
    tied: bool  # the output layer is the token embedding
    causal: bool
    kernel: Literal["auto", "reference", "explicit", "fused", "sdpa", "band", "regions", "flex"]
    kv_heads: Natural | None = None  # heads of k and v; null: as many as of q
    latent: Natural | None = None  # width of the vector that k and v are read from; null: as wide as x
    rotary: Natural = 8  # with latent: features of each head that positions turn
    mlp: Literal["gelu", "swiglu"] = "gelu"
    qk_norm: bool = False
    depth_init: Literal["total", "layer"] = "total"

    @model_validator(mode="after")
    def has_even_heads(self) -> Self:
        if self.width % self.heads:
            raise UsageError(f"model.heads={self.heads} does not divide model.width={self.width}.")
        if self.heads % (self.kv_heads or self.heads):
            raise UsageError(f"model.kv_heads={self.kv_heads} does not divide model.heads={self.heads}.")
        if self.head_width % 2:
            raise UsageError(
                f"model.width={self.width} over model.heads={self.heads} gives an odd head width of "
                f"{self.head_width}: rotary encodings pair features, so choose an even one."
            )
        return self

    @model_validator(mode="after")
    def has_room_for_latent_attention(self) -> Self:
        if self.latent is not None and (self.kv_heads is not None or self.qk_norm):
            raise UsageError("model.latent excludes model.kv_heads and model.qk_norm: leave them out.")
        if self.latent is not None and (self.rotary % 2 or self.rotary >= self.head_width):
            raise UsageError(
                f"model.rotary={self.rotary} must be an even number of features, fewer than the "
                f"{self.head_width} of a head."
            )
        return self

    @property
    def head_width(self) -> int:
        return self.width // self.heads

    @property
    def shape(self) -> dict[str, int]:
        """Return the sizes of the model that an encoding may use."""
        names = ["heads", "head_width", "width", "depth", "length"] + ["rotary"] * (self.latent is not None)
        return {name: getattr(self, name) for name in names}


class EncodingConfig(Section, extra="allow"):
    """The class of the method in `_target_`, and its parameters."""

    title: str | None = None  # its full name
    family: str | None = None  # of methods, in the report
    paper: str | None = None  # authors and year
    link: str | None = None
    share: bool  # one encoding for all layers; false: each layer has its own parameters
    ssmax: bool  # learned log-n temperature on top

    @property
    def parameters(self) -> dict[str, Any]:
        return self.model_dump()


class Parameters(Section, extra="allow"):
    """A section with the parameters of a class beside its own settings."""

    @property
    def parameters(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class ExtensionConfig(Parameters):
    """The class of the method in `_target_`, its parameters, and the settings of training under it."""

    paper: str | None = None  # authors and year
    link: str | None = None
    finetune_steps: Annotated[int, Field(ge=0, lt=1 << 31)] = 0
    finetune_length: Count | None = None  # tokens; null: the training length
    finetune_learning_rate: Quantity = 5e-4


class OptimizerConfig(Parameters):
    """The optimizer; settings that are not declared here are parameters of the class in `_target_`."""

    matrices: Literal["adamw", "muon"]  # of the layers
    learning_rate: Quantity
    weight_decay: Annotated[float, Field(ge=0, le=1e6)]
    betas: Annotated[tuple[Beta, Beta], Field(strict=False)]
    warmup: Share  # of the steps
    final: Share  # of the learning rate, at the last step
    clip: Annotated[float, Field(ge=0, le=1e6)] | None  # largest gradient norm; 0 or null: any


class TrainerConfig(Parameters):
    """The settings of the training, and any other flag of Lightning's Trainer."""

    accelerator: Literal["auto", "cpu", "gpu", "cuda", "mps"]
    devices: Annotated[SmallCount | Literal["auto"], BeforeValidator(lambda n: "auto" if n == -1 else n)]
    num_nodes: SmallCount
    strategy: str  # of Lightning, by name
    precision: Literal["auto", "32-true", "bf16-mixed", "16-mixed"]
    max_steps: Natural
    threads: SmallCount | Literal["auto"]  # CPU threads of a process
    accumulate: Natural  # parts that a step's batch is taken in
    compile: bool
    log_every: Natural  # steps
    checkpoint_every: Natural  # steps
    workers: Annotated[int, Field(ge=0, le=1024)] = 0  # processes that make batches ahead of time
    keep: Annotated[tuple[Annotated[float, Field(gt=0, lt=1)], ...], Field(strict=False)] = ()  # of the steps

    def step(self, share: float) -> int:
        """Return the step at a share of the training."""
        return max(1, round(share * self.max_steps))

    @property
    def kept(self) -> tuple[int, ...]:
        """Return the steps whose weights are kept."""
        return tuple(sorted({self.step(share) for share in self.keep}))

    @property
    def processes(self) -> int:
        """Return the number of processes of a run, if it is known before the run starts."""
        devices = self.devices if isinstance(self.devices, int) and self.devices > 0 else 1
        return devices * self.num_nodes

    @property
    def is_distributed(self) -> bool:
        """Return whether a run has more than one process."""
        return self.devices != 1 or self.num_nodes != 1


class EvaluationConfig(Section):
    lengths: Literal["ladder"] | Annotated[tuple[Count, ...], LIST]  # tokens, or as a task counts
    ladder: Annotated[tuple[Quantity, ...], LIST]  # times the training length
    protocols: Names  # of text
    stride: Count | Literal["auto"]  # tokens from one piece to the next
    last: Count | Literal["auto"]  # targets that last_k scores of each piece
    extensions: Literal["all", "controls"] | Names  # besides the chosen one
    windows: Count  # of held-out text
    retrieval: Literal["needle", "passage"] | None  # what text said at some depth, asked at its end
    problems: Count  # of each length
    tokens: Natural  # at most so many in one forward pass

    @model_validator(mode="after")
    def names_exist(self) -> Self:
        protocols = [*PROTOCOLS, BY_POSITION, COPYING, KEY_TOKENS, REPLACED]
        known = {"protocol": protocols, "extension": [*files("extension")]}
        for kind, names in (("protocol", self.protocols), ("extension", self.named)):
            for name in names:
                if name not in known[kind]:
                    raise UsageError(no_choice(kind, name, known[kind]))
        return self

    @property
    def named(self) -> tuple[str, ...]:
        """Return the names in `extensions`, whether or not they fit an encoding."""
        if isinstance(self.extensions, str):
            return CONTROLS if self.extensions == "controls" else tuple(files("extension"))
        return self.extensions

    def at(self, trained_length: int) -> list[int]:
        """Return the lengths to evaluate at."""
        if self.lengths != "ladder":
            return sorted(set(self.lengths))
        lengths = sorted({round(trained_length * times) for times in self.ladder})
        if not 1 <= lengths[0] <= lengths[-1] <= LONGEST:
            text = f"evaluation.ladder=[{','.join(map(str, self.ladder))}] times {trained_length} tokens"
            raise UsageError(f"{text} of training must lie between 1 and {LONGEST:,}.")
        return lengths
