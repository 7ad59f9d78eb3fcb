"""The loss in blocks against PyTorch's cross-entropy on all logits at once."""

import pytest
import torch
import torch.nn.functional as F

from models.encodings import extend, load
from models.gpt import GPT
from train.evaluation import losses
from train.fit import loss

SHAPE = {"heads": 2, "head_width": 8, "width": 16, "depth": 2, "length": 12}


@pytest.fixture
def model() -> GPT:
    return GPT(50, 16, 2, 2, [load("rope", **SHAPE)])


@pytest.fixture
def text() -> torch.Tensor:
    return torch.randint(50, (3, 13), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("block", [50, 400, 1 << 20])
@pytest.mark.parametrize("masked", [False, True])
def test_the_mean_and_its_gradients(model, text, block, masked, monkeypatch) -> None:
    monkeypatch.setattr(loss, "BLOCK", block)
    monkeypatch.setattr(loss, "PART", block // 4)
    tokens, targets = text[:, :-1], text[:, 1:]
    mask = torch.rand(targets.shape, generator=torch.Generator().manual_seed(1)) < 0.5 if masked else None
    each = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), reduction="none").view_as(targets)
    expected = each.mean() if mask is None else each[mask].mean()
    found = loss.mean_loss(model.hidden(tokens), model.head.weight, targets, mask)
    torch.testing.assert_close(found, expected)
    wanted = torch.autograd.grad(3 * expected, list(model.parameters()))
    for a, b in zip(torch.autograd.grad(3 * found, list(model.parameters())), wanted, strict=True):
        torch.testing.assert_close(a, b)


def test_an_output_layer_may_cap_its_logits(model, text) -> None:
    head = torch.nn.Sequential(model.head, torch.nn.Tanh())
    hidden, mask = model.hidden(text[:, :-1]), text[:, 1:] % 2 == 0
    expected = torch.nn.functional.cross_entropy(head(hidden)[mask], text[:, 1:][mask])
    assert loss.output_loss(head, hidden, text[:, 1:], mask).item() == pytest.approx(expected.item())
    assert loss.output_loss(model.head, hidden, text[:, 1:]).item() == pytest.approx(
        loss.mean_loss(hidden, model.head.weight, text[:, 1:]).item()
    )


@pytest.mark.parametrize("first", [0, 5, 9, 11])
def test_each_token(model, text, first) -> None:
    tokens, targets = text[:, :-1], text[:, 1:]
    each = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), reduction="none").view_as(targets)
    torch.testing.assert_close(losses.token_losses(model, tokens, targets, first=first), each[:, first:])


@pytest.mark.parametrize("nats", [8, 4, 1, 0.1, 0.01, 0.001])
def test_bfloat16_gradients_are_as_exact_as_those_of_a_float32_softmax(nats: float) -> None:
    hidden, weight, targets = sure_of(nats)
    exact = gradients(F.cross_entropy(hidden.double() @ weight.double().T, targets), hidden, weight)
    standard = gradients(F.cross_entropy((hidden @ weight.T).float(), targets), hidden, weight)
    ours = gradients(loss.MeanCrossEntropy.apply(hidden, weight, targets), hidden, weight)
    for a, b, c in zip(ours, standard, exact, strict=True):
        assert (a - c).norm() <= 1.3 * (b - c).norm()


def sure_of(nats: float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return hidden states (N, C), a head (V, C) and targets (N,) with about this mean loss, in bfloat16."""
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(512, 64, generator=generator) / 8
    targets = torch.randint(512, (256,), generator=generator)
    noise = torch.randn(256, 64, generator=generator)
    low, high = -20.0, 60.0
    for _ in range(40):  # the loss falls as the target's own row is added to the hidden state
        middle = (low + high) / 2
        hidden = noise + middle * weight[targets]
        low, high = (middle, high) if F.cross_entropy(hidden @ weight.T, targets) > nats else (low, middle)
    return hidden.bfloat16().requires_grad_(), weight.bfloat16().requires_grad_(), targets


def gradients(total: torch.Tensor, *inputs: torch.Tensor) -> list[torch.Tensor]:
    return [gradient.double() for gradient in torch.autograd.grad(total, inputs)]


@pytest.mark.parametrize("first", [0, 5, 9, 11])
@pytest.mark.parametrize("context", [5, 6, 12])
def test_last_tokens_alone_of_pieces(model, text, context, first) -> None:
    cut = model.under([extend("crop", load("rope", **SHAPE | {"length": context}))])
    whole = cut.hidden(text[:, :-1])
    torch.testing.assert_close(cut.hidden(text[:, :-1], first=first), whole[:, first:])
