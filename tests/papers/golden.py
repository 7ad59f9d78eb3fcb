"""Inputs of six tokens, four features and one head, in float64; their numbers have nine decimals."""

import torch
from torch import Tensor

from models.attention import attend, logits
from models.effect import Layer, Positions
from models.encoding import Encoding

T, D, C = 6, 4, 8


def wave(shift: float, by_token: float, by_feature: float, width: int, cosine: bool) -> Tensor:
    angle = shift + by_token * torch.arange(T).double()[:, None] + by_feature * torch.arange(width).double()
    return angle.cos() if cosine else angle.sin()


Q, K = (x[None, None] for x in (wave(1, 0.7, 1.3, D, False), wave(0.5, 0.9, 0.4, D, True)))
V, X = wave(0.3, 0.5, 1.1, D, False)[None, None], wave(0.2, 0.6, 0.35, C, True)[None]


def last_row(encoding: Encoding, number: int = 0, shift: int = 0, x: Tensor = X) -> Tensor:
    """Return the logits of the last query, (T,)."""
    positions = Positions(torch.arange(T) + shift, T + shift)
    effect = encoding.double().effect_at(positions, Layer(x, Q, K, V, number))
    return logits(Q, K, effect)[0, 0, -1].detach()


def last_output(encoding: Encoding, number: int = 0) -> Tensor:
    """Return what the last query reads, (D,)."""
    effect = encoding.double().effect_at(Positions.of(T), Layer(X, Q, K, V, number))
    return attend(Q, K, V, effect, kernel="reference")[0, 0, -1].detach()


def close(found: Tensor, *expected: float) -> None:
    torch.testing.assert_close(found.double(), torch.tensor(expected, dtype=torch.float64), atol=2e-9, rtol=0)


def fill(encoding: Encoding, **parameters: Tensor) -> Encoding:
    """Return the encoding with these parameters and buffers."""
    encoding.double()
    state = encoding.state_dict()
    with torch.no_grad():
        for name, value in parameters.items():
            state[name].copy_(value.reshape(state[name].shape))
    return encoding


def grid(function: "object", rows: int, columns: int) -> Tensor:
    """Return function(row, column) as a matrix."""
    r, c = torch.arange(rows).double()[:, None], torch.arange(columns).double()
    return function(r, c) + torch.zeros(rows, columns).double()  # type: ignore[operator]
