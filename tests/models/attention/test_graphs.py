"""What compilers make of attention on a GPU, counted on a CPU: one graph a block, one mask a pass."""

from collections.abc import Iterator
from functools import partial

import pytest
import torch
from torch import Tensor

from models.attention import attend, flex
from models.distance import ByDistance
from models.effect import Effect, Positions
from tests.conftest import LENGTH, Method, gpt, tokens
from tests.tolerance import agree

METHODS = [Method(name) for name in ("rope", "alibi", "kerple_log", "t5", "fox", "window_rope")]


@torch.no_grad()
@pytest.mark.parametrize("method", [*METHODS, Method("rope", "rerope")], ids=str)
def test_a_block_is_one_graph(method: Method) -> None:
    model, graphs = gpt(method.fresh(), depth=1, kernel="flex"), []
    expected = model(tokens())

    def counted(graph: torch.fx.GraphModule, _: object) -> torch.fx.GraphModule:
        graphs.append(graph)
        return graph

    torch._dynamo.reset()
    for block in model.blocks:
        block.compile(backend=counted, fullgraph=True)  # raises where a graph would break
    agree(model(tokens()), expected)
    assert len(graphs) == len(model.blocks)


@torch.no_grad()
def test_layers_share_a_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that have parameters of their own, or change their effect in each layer."""
    made, make = [], flex.block_mask
    monkeypatch.setattr(flex, "block_mask", lambda *given: made.append(given) or make(*given))
    for name in ("kerple_log", "fox"):
        made.clear()
        model = gpt(Method(name).fresh(), depth=3, kernel="flex")
        model.encodings.extend([Method(name).fresh() for _ in range(2)])
        model(tokens())
        assert len(made) == 1


@torch.no_grad()
def test_a_bias_of_head_and_distance_needs_no_table() -> None:
    def table(distance: Tensor) -> Tensor:
        raise AssertionError("A table was made.")

    def number(head: Tensor, distance: Tensor) -> Tensor:
        return -(head + 1) * distance.abs().float() / 9

    at, (q, k, v) = Positions.of(LENGTH), torch.randn(3, 2, 3, LENGTH, 8)
    found = attend(q, k, v, Effect(at, bias=ByDistance(table, number)), kernel="flex")
    agree(found, attend(q, k, v, Effect(at, bias=ByDistance.of_heads(3, number)), kernel="reference"))


@pytest.fixture
def by_itself(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """Compile FlexAttention as on a GPU, and collect the graphs."""
    graphs: list[object] = []

    def counted(graph: torch.fx.GraphModule, _: object) -> torch.fx.GraphModule:
        graphs.append(graph)
        return graph

    monkeypatch.setattr(flex, "is_compiled", lambda q: True)
    monkeypatch.setattr(flex, "LENGTHS", 2)
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=counted))
    flex.compiled_flex.cache_clear()
    yield graphs
    flex.compiled_flex.cache_clear()


@torch.no_grad()
def test_a_length_is_compiled_once(by_itself: list[object]) -> None:
    """Past the limit there is an error, not attention by all pairs in silence."""
    for length, count in ((130, 1), (130, 1), (300, 2)):
        for seed in range(2):  # other numbers of the same form
            q, k, v = torch.randn(3, 1, 4, length, 8, generator=torch.Generator().manual_seed(seed))
            attend(q, k, v, Method("t5").fresh().effect_at(Positions.of(length)), kernel="flex")
        assert len(by_itself) == count
    q, k, v = torch.randn(3, 1, 4, 500, 8)
    with pytest.raises(torch._dynamo.exc.FailOnRecompileLimitHit):
        attend(q, k, v, Method("t5").fresh().effect_at(Positions.of(500)), kernel="flex")
