"""Newer methods that read the content, against published numbers and against loops."""

import math

import pytest
import torch

from models.encodings import load
from tests.papers.golden import C, D, K, Q, T, X, close, fill, grid, last_output, last_row
from tests.papers.loops import HEADS, SHAPE, SLOPES, by_pair, content, dot, logits_of
from tests.tolerance import agree, float64


def test_stick_breaking() -> None:
    """The rest of the stick goes to the token itself."""
    with float64():
        weights = last_row(load("stick_breaking")).softmax(-1)
        close(weights, 0.019404690, 0.028445444, 0.064322358, 0.201256922, 0.653574033, 0.032996555)
        close(last_output(load("stick_breaking")), 0.782538918, -0.052070702, -0.829777055, -0.700696606)


def test_selective_rope() -> None:
    with float64():
        encoding = load("selective_rope", heads=2, head_width=D, width=C, rank=2)
        taps = torch.tensor([[0.25 * (1 + 0.1 * o) * (m + 1) / 4 for m in range(4)] for o in range(4)])
        fill(
            encoding,
            **{
                "down.weight": grid(lambda r, c: 0.5 * (r + 2 * c + 1).sin(), 2, 8),
                "up.weight": grid(lambda o, r: 0.5 * (o + r).cos(), 4, 2),
                "taps": taps,
            },
        )
        angle = encoding.angle(X).detach()  # (1, 2, T, 2)
        close(angle[0, 0, :, 0], 0.000282959, 0.015406265, 0.018136155, 0.009155730, 0.014105349, 0.022844828)
        close(angle[0, 1, -1], -0.028620723, -0.000045672)
        encoding.heads = 2
        row = last_row(encoding)
        close(row, -0.540970903, -0.609254341, -0.225205286, 0.336013770, 0.635807562, 0.462496039)


def test_repo() -> None:
    with float64():
        encoding = load("repo", heads=2, head_width=D, width=3 * 8, depth=16)
        assert encoding.whole_layers == 5
        encoding = load("repo", heads=2, head_width=D, width=C, depth=2, base=10_000.0)
        encoding.gate, encoding.content = torch.nn.Linear(8, 3, bias=False), torch.nn.Linear(8, 3, bias=False)
        encoding.place = torch.nn.Linear(3, 2, bias=False)
        fill(
            encoding,
            **{
                "gate.weight": grid(lambda r, c: 0.3 * (r + c).sin(), 3, 8),
                "content.weight": grid(lambda r, c: 0.3 * (2 * r - c).cos(), 3, 8),
                "place.weight": torch.tensor([[1.0, -2, 3], [2, 1, -1]]),
            },
        )
        places = encoding.positions_of(X)[0, 0].detach()
        close(places, 0.003736847, 0.002178485, 0.000056989, -0.001784020, 0.015672426, 0.042623259)
        row = last_row(encoding, number=1)
        close(row, -0.534403672, -0.604855569, -0.216878868, 0.335233960, 0.633877861, 0.462496039)
        plain = load("rope", head_width=D)
        agree(last_row(encoding, number=0), last_row(plain))


def test_grape_contextual_rotation() -> None:
    with float64():
        encoding = load("grape_m", head_width=D, width=C)
        assert torch.sigmoid(encoding.speed.bias / 16).item() == pytest.approx(0.3937, abs=1e-4)
        weight = 3.2 * torch.tensor([1, -1, 2, 0, 1, -2, 1, 0.5])
        fill(encoding, **{"speed.weight": weight, "speed.bias": torch.tensor([-8.0])})
        row = last_row(encoding)
        close(row, 0.307323645, -0.608278974, -0.811897512, -0.113872689, 0.583474735, 0.462496039)


def test_grape_bias_opened_by_the_key() -> None:
    with float64():
        encoding = load("grape_a", heads=8, head_width=D)
        u = torch.tensor([1.0, -2.0, 3.0, 0.5])
        fill(encoding, of_key=(u / u.norm()).expand(8, 1, 4))
        q, k = Q.expand(-1, 8, -1, -1), K.expand(-1, 8, -1, -1)
        change = (logits_of(encoding, q, k) - logits_of(load("nope"), q, k))[0, 0, -1].detach()
        close(change, -1.795291426, -1.189184618, -0.826571182, -0.609582009, -0.369718333, 0)


def test_grape_bias_opened_by_both() -> None:
    """The bias is -slope * distance * (softplus(u . k / sqrt(D)) + softplus(v . q / sqrt(D)))."""
    q, k = content()
    encoding = load("grape_a", **SHAPE, gate="both").requires_grad_(False)

    def logit(h: int, i: int, j: int) -> float:
        of_k, of_q = encoding.of_key[h, 0], encoding.of_query[h, 0]
        root = math.sqrt(q.size(-1))
        opened = sum(math.log1p(math.exp(x / root)) for x in (dot(of_k, k[0, h, j]), dot(of_q, q[0, h, i])))
        return dot(q[0, h, i], k[0, h, j]) / root - SLOPES[h] * (i - j) * opened

    agree(logits_of(encoding, q, k), by_pair(logit, HEADS, q.size(2)))


@pytest.mark.parametrize(
    ("shift", "printed"),
    [
        (0, (-1.733295424, -1.502336395, -1.262882605, -0.822531557, -0.301911856, 0)),
        (1, (-1.715496211, -1.498700565, -1.124500648, -0.586778649, -0.212719620, 0)),
    ],
)
def test_grape_path_bias(shift: int, printed: tuple[float, ...]) -> None:
    """Its first head of eight; the numbers change when all positions move by one."""
    with float64():
        encoding = load("grape_ap", heads=8, width=4, features=4)
        fill(encoding, **{"path.weight": torch.eye(4).repeat(8, 1)})
        p = (0.2 + 0.4 * torch.arange(T).double()[:, None] + 0.7 * torch.arange(4).double()).sin()
        change = last_row(encoding, shift=shift, x=p[None]) - last_row(load("nope"))
        close(change, *printed)


def test_transformer_xl() -> None:
    with float64():
        encoding = load("transformer_xl", heads=1, head_width=D, width=C, depth=1)
        ones = torch.tensor([1.0, 2.0, 3.0, 4.0])
        fill(encoding, content_bias=0.1 * ones, place_bias=-0.05 * ones)
        fill(encoding, **{"to_keys.0": grid(lambda a, b: 0.1 * (a + b).sin(), 4, 8)})
        row = last_row(encoding)
        close(row, -0.377534363, -0.910935986, -0.722682749, 0.057924802, 0.841129738, 1.030584809)


def test_transformer_xl_shares_its_biases_between_layers() -> None:
    encoding = load("transformer_xl", **SHAPE | {"depth": 3})
    names = {name for name, _ in encoding.named_parameters()}
    assert names == {"content_bias", "place_bias", *(f"to_keys.{n}" for n in range(3))}
