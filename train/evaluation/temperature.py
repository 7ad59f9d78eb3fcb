"""The best temperature at each length: a factor on all logits, found on held-out text that is not scored."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from conf.errors import UsageError
from data.source import Source, Windows
from models.extensions.temperature import Temperature
from train.evaluation.evaluator import Cost, Evaluator, Key
from train.evaluation.losses import token_losses
from train.evaluation.model import Models
from train.results.protocols import Amounts
from train.results.rows import Result

WINDOWS = 8  # to find a factor on
COARSE = [2 ** (n / 2) for n in range(-2, 4)]  # factors that are tried at every length: 0.5 to 2.8
FINE = 4  # more between the neighbours of the best of them


def unscored_windows(source: Source, scored: Windows, length: int) -> Tensor:
    """Return windows (N, T + 1) of documents that are not scored."""
    windows = source.windows(scored.tokens.size(0) + 4 * WINDOWS, length)
    assert windows is not None
    others = windows.tokens[~torch.isin(windows.document, scored.document)]
    if not len(others):
        raise UsageError(
            "extension=temperature needs held-out documents that are not scored: lower evaluation.windows."
        )
    return others[:WINDOWS]


class TemperatureSearch(Evaluator):
    """The search for the factor of each length with the lowest loss on the targets of same_tokens. All
    processes find the same factors, which the `Temperature`s of the models then use."""

    def __init__(self, models: Models, windows: Tensor, amounts: Amounts) -> None:
        super().__init__(models)
        self.windows, self.amounts = windows, amounts
        self.factors: dict[str, dict[int, float]] = {name: {} for name in models if self.inside(name)}
        limits = {name: models[name].limit or amounts.longest for name in self.factors}
        self.keys = [Key(n, "same_tokens", at) for n in limits for at in amounts.lengths if at <= limits[n]]
        self.cost = {key: Cost() for key in self.keys}

    def inside(self, extension: str) -> list[Temperature]:
        modules = self.models[extension].modules()
        return [module for module in modules if isinstance(module, Temperature) and module.auto]

    def parts(self, rank: int, world: int) -> Iterator[Key]:
        return iter(self.keys)

    def validation_step(self, part: Key, index: int) -> None:
        self.attempt(part, [part], part.length)

    def score(self, part: Key) -> None:
        from scipy.optimize import minimize_scalar  # takes a tenth of the start of a command to import

        name, _, length = part
        window = self.windows[:, -length - 1 :].to(self.device)

        def loss(log_factor: float) -> float:
            for encoding in self.inside(name):
                encoding.factors = {1: math.exp(log_factor)}
            first = length - self.amounts.common
            losses = [token_losses(self.models[name], x[None, :-1], x[None, 1:], first=first) for x in window]
            return float(torch.cat(losses).mean())

        losses = {math.log(factor): loss(math.log(factor)) for factor in COARSE}
        middle, step = min(losses, key=losses.__getitem__), math.log(2) / 2
        fine = minimize_scalar(
            loss, bounds=(middle - step, middle + step), method="bounded", options={"maxiter": FINE}
        )
        self.factors[name][length] = math.exp(fine.x if fine.fun < losses[middle] else middle)

    def on_validation_end(self) -> None:
        super().on_validation_end()
        for name, factors in self.factors.items():
            for encoding in self.inside(name):
                encoding.factors = factors

    def results(self) -> Iterator[Result]:
        for name, factors in self.factors.items():
            for length, factor in factors.items():
                yield Result(name, "same_tokens", length, "temperature", factor)
