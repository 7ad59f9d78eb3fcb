"""A training step of every encoding, and of other libraries' models of the same shape and precision."""

from collections.abc import Callable, Iterator
from functools import cache, partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.encodings import layers, names
from models.gpt import GPT
from models.registry import read
from sweeps.bench.clock import interleaved, memory, seconds
from sweeps.bench.page import Result
from train.loss import mean_loss

VOCAB, WIDTH, DEPTH, HEADS, LENGTH, BATCH = 4096, 128, 4, 4, 128, 32
HOW = f"vocab {VOCAB}, width {WIDTH}, depth {DEPTH}, heads {HEADS}, {LENGTH} tokens, batch {BATCH}, bf16"
PEERS = ("transformers_gpt2", "transformers_llama", "x_transformers")
Loss = Callable[[Tensor, Tensor], Tensor]
Make = Callable[[], tuple[nn.Module, Loss]]


def device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def measure(rounds: int) -> Iterator[Result]:
    """Step times, ratios to NoPE and to peers, share of the peak, peak memory."""
    makes = {name: partial(ours, name) for name in names()} | {name: partial(peer, name) for name in PEERS}
    for name, make in makes.items():
        used = memory(partial(step, make))
        yield Result(f"memory_{name}", used / 2**20, "MiB", f"what a step adds to the model; {HOW}")
    taken = interleaved({name: step(make) for name, make in makes.items()}, rounds)
    tokens = BATCH * LENGTH
    for name in makes:
        yield Result(f"train_{name}", tokens / taken[name], "tokens/s", f"one thread; {HOW}")
        yield Result(f"step_{name}", taken[name] * 1e3, "ms", f"median of {rounds} interleaved steps; {HOW}")
    for name in names():
        yield Result(f"step_{name}_vs_nope", taken[name] / taken["nope"], "x", f"step time; {HOW}")
    for name in PEERS:
        yield Result(f"train_rope_vs_{name}", taken[name] / taken["rope"], "x", f"tokens/s; {HOW}")
    peak = gemm_peak()
    yield Result("gemm_peak", peak / 1e9, "GFLOP/s", "bf16 product of two 1024 x 1024 matrices, best of 20")
    share = operations() * tokens / taken["rope"] / peak
    yield Result("gemm_share_rope", share, "of the peak", f"6 N + 6 L d T operations a token; {HOW}")
    yield Result("gemm_share_products", operations() * tokens / products() / peak, "of the peak",
                 f"the products of a step by themselves, each the best of 5; {HOW}")  # fmt: skip


def measure_compiled(rounds: int) -> Iterator[Result]:
    """Our uncompiled step of RoPE, and a compiled one, against peers through torch.compile."""
    makes = {"rope": partial(ours, "rope"), "rope_compiled": partial(compiled, partial(ours, "rope"))}
    makes |= {f"{name}_compiled": partial(compiled, partial(peer, name)) for name in PEERS}
    taken = interleaved({name: step(make) for name, make in makes.items()}, rounds)
    for name in list(makes)[1:]:
        yield Result(f"train_rope_vs_{name}", taken[name] / taken["rope"], "x",
                     f"tokens/s, the compilation not counted; {HOW}")  # fmt: skip


def compiled(make: Make) -> tuple[nn.Module, Loss]:
    """A model through torch.compile: ours block by block, as `trainer.compile` has it."""
    model, loss = make()
    for part in model.blocks if isinstance(model, GPT) else [model]:
        part.compile()
    return model, loss


def ours(name: str) -> tuple[nn.Module, Loss]:
    shape = {"heads": HEADS, "head_width": WIDTH // HEADS, "width": WIDTH, "depth": DEPTH, "length": LENGTH}
    model = GPT(VOCAB, WIDTH, DEPTH, HEADS, layers(read("encoding", name), DEPTH, shape))
    return model, lambda tokens, targets: mean_loss(model, tokens, targets)


def peer(name: str) -> tuple[nn.Module, Loss]:
    """Models of the same shape, from the package index."""
    if name == "x_transformers":
        from x_transformers import Decoder, TransformerWrapper

        decoder = Decoder(
            dim=WIDTH, depth=DEPTH, heads=HEADS, attn_dim_head=WIDTH // HEADS,
            rotary_pos_emb=True, attn_flash=True, use_rmsnorm=True,
        )  # fmt: skip
        model: nn.Module = TransformerWrapper(
            num_tokens=VOCAB,
            max_seq_len=LENGTH,
            attn_layers=decoder,
            use_abs_pos_emb=False,
            tie_embedding=True,
        )
        return model, lambda tokens, targets: cross_entropy(model(tokens), targets)
    from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

    if name == "transformers_gpt2":
        model = GPT2LMHeadModel(
            GPT2Config(
                vocab_size=VOCAB, n_positions=LENGTH, n_embd=WIDTH, n_layer=DEPTH, n_head=HEADS,
                resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
            )
        )  # fmt: skip
    else:
        model = LlamaForCausalLM(
            LlamaConfig(  # three matrices of 8/3 of the width are as many weights as two of 4
                vocab_size=VOCAB, hidden_size=WIDTH, intermediate_size=WIDTH * 8 // 3,
                num_hidden_layers=DEPTH, num_attention_heads=HEADS,
                max_position_embeddings=LENGTH, tie_word_embeddings=True,
            )
        )  # fmt: skip
    return model, lambda tokens, targets: cross_entropy(model(tokens).logits, targets)


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def step(make: Make) -> Callable[[], None]:
    """One whole training step on text that is new each time."""
    model, loss = make()
    model.to(device()).train()
    # so small a rate that no model learns by heart: numbers too small for normal floats are slow
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6, fused=True)
    noise = torch.Generator().manual_seed(0)

    def run() -> None:
        text = torch.randint(VOCAB, (BATCH, LENGTH + 1), generator=noise).to(device())
        with torch.autocast(device(), dtype=torch.bfloat16):
            value = loss(text[:, :-1], text[:, 1:])
        optimizer.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return run


def operations() -> int:
    """Floating-point operations that training takes a token: 6 a weight, and causal attention."""
    return 6 * (12 * DEPTH * WIDTH**2 + VOCAB * WIDTH) + 6 * DEPTH * WIDTH * LENGTH


def products() -> float:
    """Seconds of all matrix products of a step, forward and backward, without anything between them."""
    tokens, head = BATCH * LENGTH, WIDTH // HEADS
    linear = [(WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH)] * DEPTH
    total = 0.0
    for inner, out in [*linear, (WIDTH, VOCAB)]:
        for shape in ((tokens, inner, out), (tokens, out, inner), (out, tokens, inner)):
            total += product(1, *shape)
    attention = [(LENGTH, head, LENGTH)] * 2 + [(LENGTH, LENGTH, head)] * 4
    return total + DEPTH * sum(product(BATCH * HEADS, *shape) for shape in attention)


@cache
def product(count: int, rows: int, inner: int, columns: int) -> float:
    """Seconds of `count` products in bf16, the best of 5."""
    a, b = (
        torch.randn(count, *shape, device=device()).bfloat16() for shape in ((rows, inner), (inner, columns))
    )
    return min(seconds(lambda: a @ b) for _ in range(5))


def gemm_peak() -> float:
    a = torch.randn(1024, 1024, device=device()).bfloat16()
    return 2 * 1024**3 / min(seconds(lambda: a @ a) for _ in range(20))
