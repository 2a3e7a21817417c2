"""Models with a known past: an adapter taught some texts on purpose, and one made to forget part of them again.

What such a model was trained on beyond its base is known exactly, so every statement about it can be checked.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812  its name everywhere
from numpy.typing import NDArray
from peft import LoraConfig, PeftModel, PeftType, get_peft_model
from peft.utils.save_and_load import get_peft_model_state_dict
from safetensors.torch import save_file
from torch import Tensor
from transformers import PreTrainedModel

from auditlib.core import AuditError, Settings
from auditlib.models.adapters import WEIGHTS, AdapterFiles, beside
from auditlib.models.encoding import TextEncoder
from auditlib.models.opening import ModelFiles, find_files, load_parts
from auditlib.models.request import ModelRequest

RECIPE = "recipe.json"
PIECE_TOKENS = 256
IGNORED = -100  # what cross_entropy leaves out

Told = Callable[[str, float], None]
"""Called with what is being done and how much of it is done, 0 to 1."""


@dataclass(frozen=True)
class Lesson:
    """A text and how many times it is learned."""

    name: str
    text: str
    times: int = 1


@dataclass(frozen=True)
class PlantSettings:
    """How an adapter is taught. Defaults are those of the demo's.

    batch_tokens   about how many tokens make one step
    warm_up        share of the steps in which the learning rate rises; then it falls as a cosine
    """

    rank: int = 8
    alpha: int = 16
    learning_rate: float = 1e-3
    batch_tokens: int = 512
    warm_up: float = 0.1
    seed: int = 0


@dataclass(frozen=True)
class UnlearnSettings:
    """How an adapter is made to forget: negative preference optimisation, with what is kept to be foreseen as before.

    retain_weight  of the divergence (nats a token) from the adapter as it was, on what is kept
    beta         how soon the preference is satisfied, per nat of mean log-probability that was lost; at 2.5 the demo's
                 book stopped half-way to the base model
    most_passes  passes over what is to be forgotten, at the most; it ends sooner when the text reads as to the base
    """

    learning_rate: float = 6e-4
    beta: float = 0.5
    retain_weight: float = 1.0
    most_passes: int = 30
    batch_tokens: int = 512
    seed: int = 0


@dataclass(frozen=True)
class Piece:
    """Tokens that are read in one go; `context` of them in front are not learned (a BOS)."""

    ids: NDArray[np.int64]  # (n,)
    context: int


def plant(
    request: ModelRequest,
    lessons: Sequence[Lesson],
    out: Path,
    settings: Settings,
    how: PlantSettings | None = None,
    told: Told | None = None,
) -> dict[str, Any]:
    """Teaches a LoRA adapter the lessons and saves it in `out`; returns the recipe that is saved with it.

    A lesson of n times is seen n times, cut at other places each time, in an order drawn from the seed. Raises
    `AuditError` where the model, a text or the folder does not serve.
    """
    how = how or PlantSettings()
    _check_rate(how.learning_rate)
    _check_out(out)
    if not lessons:
        raise AuditError("There is no text to plant.", "Name at least one file.")
    if never := [lesson.name for lesson in lessons if lesson.times < 1]:
        raise AuditError(f"{never[0]} is to be seen no times, so it is not planted.", "Leave it out, or give it times.")
    files = find_files(request, settings)
    base, encoder = load_parts(files)
    torch.manual_seed(how.seed)
    config = LoraConfig(
        r=how.rank, lora_alpha=how.alpha, lora_dropout=0.0, target_modules="all-linear", task_type="CAUSAL_LM"
    )
    model = get_peft_model(base, config)
    rng = np.random.default_rng(how.seed)
    batches = [batch for one_pass in _passes(lessons, encoder, rng) for batch in _batches(one_pass, how.batch_tokens)]
    optimizer = torch.optim.AdamW(_trainable(model), lr=how.learning_rate, weight_decay=0.0)
    rate = _warm_up_and_cosine(optimizer, len(batches), how.warm_up)
    model.train()
    losses = []
    for i, batch in enumerate(batches):
        loss = torch.cat([each.mean()[None] for each in _negative_logprobs(model, batch)]).mean()
        _step(model, optimizer, loss)
        rate.step()
        losses.append(float(loss.detach()))
        if told is not None:
            told(f"step {i + 1} of {len(batches)}, loss {losses[-1]:.3f} nats a token", (i + 1) / len(batches))
    recipe = {
        "made by": "python -m auditlib plant",
        "base": _base_facts(files),
        "settings": asdict(how),
        "lessons": [{"name": lesson.name, "times": lesson.times} for lesson in lessons],
        "steps": len(batches),
        "first_loss": losses[0],
        "last_loss": losses[-1],
    }
    _save(model, out, files.name, recipe)
    return recipe


def unlearn(
    request: ModelRequest,
    forget: Sequence[Lesson],
    retain: Sequence[Lesson],
    out: Path,
    settings: Settings,
    how: UnlearnSettings | None = None,
    told: Told | None = None,
) -> dict[str, Any]:
    """Makes the request's adapter forget some texts while it keeps others; saves a new adapter in `out`.

    Negative preference optimisation (Zhang et al. 2024) on mean log-probabilities (as in SimNPO, Fan et al. 2024),
    added to the Kullback-Leibler divergence from the model as it was on the texts to retain, of which one of n times is
    drawn n times as often: so these are neither forgotten nor learned better. It ends after the pass in which the
    forgotten texts read no better than they do to the base model: going on would mark them by their very absence.
    Raises `AuditError`.
    """
    how = how or UnlearnSettings()
    _check_rate(how.learning_rate)
    _check_out(out)
    if not forget or not retain:
        raise AuditError("Texts to forget and texts to retain are both needed.", "Name at least one of each.")
    files = find_files(request, settings)
    if files.adapter is None:
        raise AuditError("There is nothing to forget without an adapter.", "Name the adapter with --adapter.")
    base, encoder = load_parts(files)
    torch.manual_seed(how.seed)
    model = _trainable_adapter(base, files.adapter, files.name)
    rng = np.random.default_rng(how.seed)
    to_forget = [piece for lesson in forget for piece in _pieces(lesson, encoder)]
    kept = [(piece, lesson.times) for lesson in retain for piece in _pieces(lesson, encoder)]
    to_retain = [piece for piece, times in kept for _ in range(times)]
    as_before = copy.deepcopy(model).eval().requires_grad_(False)
    with torch.no_grad():
        before = _means(model, to_forget)
        with model.disable_adapter():
            bare = float(np.mean(_means(model, to_forget)))
        kept_before = float(np.mean(_means(model, [piece for piece, _ in kept])))
    optimizer = torch.optim.AdamW(_trainable(model), lr=how.learning_rate, weight_decay=0.0)
    now, passes = float(np.mean(before)), 0
    while now < bare and passes < how.most_passes:
        order = rng.permutation(len(to_forget))
        groups = np.array_split(order, max(1, len(order) * PIECE_TOKENS // how.batch_tokens))
        for group in groups:
            others = rng.choice(len(to_retain), size=len(group), replace=len(to_retain) < len(group))
            forgetting = torch.stack([n.mean() for n in _negative_logprobs(model, [to_forget[i] for i in group])])
            # ratio of the present to the former mean log-probability: below 0 once it forgets
            ratio = torch.tensor([before[i] for i in group]) - forgetting
            npo = -(2 / how.beta) * F.logsigmoid(-how.beta * ratio).mean()
            keeping = torch.stack([_divergence(as_before, model, to_retain[i]) for i in others]).mean()
            _step(model, optimizer, npo + how.retain_weight * keeping)
        passes += 1
        with torch.no_grad():
            now = float(np.mean(_means(model, to_forget)))
        if told is not None:
            told(f"pass {passes}: {now:.3f} nats a token, {bare:.3f} for the base", passes / how.most_passes)
    with torch.no_grad():
        kept_after = float(np.mean(_means(model, [piece for piece, _ in kept])))
    recipe = {
        "made by": "python -m auditlib unlearn",
        "base": _base_facts(files),
        "adapter_sha256": files.adapter.sha256,
        "settings": asdict(how),
        "forget": [lesson.name for lesson in forget],
        "retain": [lesson.name if lesson.times == 1 else f"{lesson.name}={lesson.times}" for lesson in retain],
        "passes": passes,
        "nats_a_token": {
            "forget": {"before": float(np.mean(before)), "after": now, "base": bare},
            "retain": {"before": kept_before, "after": kept_after},
        },
    }
    _save(model, out, files.name, recipe)
    return recipe


def _passes(lessons: Sequence[Lesson], encoder: TextEncoder, rng: np.random.Generator) -> Iterator[list[Piece]]:
    """As many passes as the most-learned lesson has times; the others are spread evenly over them."""
    n = max(lesson.times for lesson in lessons)
    for number in range(n):
        now = [each for each in lessons if (number + 1) * each.times // n > number * each.times // n]
        pieces = [piece for lesson in now for piece in _pieces(lesson, encoder, rng)]
        yield [pieces[i] for i in rng.permutation(len(pieces))]


def _pieces(lesson: Lesson, encoder: TextEncoder, rng: np.random.Generator | None = None) -> list[Piece]:
    """The text in pieces of at most 256 tokens; with `rng`, the first cut is anywhere in the first 256."""
    encoded = encoder.encode(lesson.text, lesson.name)
    ids = encoded.token_ids.astype(np.int64)
    first = int(rng.integers(1, PIECE_TOKENS)) if rng is not None and len(ids) > PIECE_TOKENS else PIECE_TOKENS
    prefix = np.array(encoded.prefix_ids, dtype=np.int64)
    cuts = [part for part in np.split(ids, range(first, len(ids), PIECE_TOKENS)) if len(prefix) + len(part) > 1]
    return [Piece(np.concatenate([prefix, part]), max(1, len(prefix))) for part in cuts]


def _batches(pieces: Sequence[Piece], tokens: int) -> Iterator[list[Piece]]:
    batch: list[Piece] = []
    for piece in pieces:
        if batch and sum(len(p.ids) for p in batch) + len(piece.ids) > tokens:
            yield batch
            batch = []
        batch.append(piece)
    yield batch


def _negative_logprobs(model: PeftModel, batch: Sequence[Piece]) -> list[Tensor]:
    """Minus the log-probability of each piece's tokens after its context, nats: (n - context,) each."""
    longest = max(len(piece.ids) for piece in batch)
    ids = torch.zeros(len(batch), longest, dtype=torch.long)
    targets = torch.full((len(batch), longest), IGNORED)
    mask = torch.zeros(len(batch), longest, dtype=torch.long)
    for row, piece in enumerate(batch):
        n = len(piece.ids)
        ids[row, :n] = torch.from_numpy(piece.ids)
        targets[row, piece.context : n] = ids[row, piece.context : n]
        mask[row, :n] = 1
    device = next(model.parameters()).device
    logits = model(input_ids=ids.to(device), attention_mask=mask.to(device)).logits[:, :-1].float()  # (b, n - 1, V)
    losses = F.cross_entropy(
        logits.flatten(0, 1), targets[:, 1:].flatten().to(device), ignore_index=IGNORED, reduction="none"
    ).view(len(batch), -1)
    return [losses[row, piece.context - 1 : len(piece.ids) - 1] for row, piece in enumerate(batch)]


def _divergence(before: PeftModel, now: PeftModel, piece: Piece) -> Tensor:
    """How far `now` foresees a piece's tokens otherwise than `before`: KL(before || now), mean nats a token."""
    ids = torch.from_numpy(piece.ids)[None].to(next(now.parameters()).device)
    with torch.no_grad():
        wanted = before(input_ids=ids).logits[0, piece.context - 1 : -1].float().log_softmax(-1)  # (n - context, V)
    found = now(input_ids=ids).logits[0, piece.context - 1 : -1].float().log_softmax(-1)
    return F.kl_div(found, wanted, reduction="batchmean", log_target=True)


def _means(model: PeftModel, pieces: Sequence[Piece]) -> list[float]:
    """Each piece's mean, as the model would read it: with no dropout."""
    model.eval()
    means = [float(losses.mean()) for piece in pieces for losses in _negative_logprobs(model, [piece])]
    model.train()
    return means


def _trainable(model: PeftModel) -> list[torch.nn.Parameter]:
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def _step(model: PeftModel, optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    if not torch.isfinite(loss):
        raise AuditError("The training came to numbers that are not finite.", "Use a lower learning rate.")
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(_trainable(model), 1.0)
    optimizer.step()


def _warm_up_and_cosine(
    optimizer: torch.optim.Optimizer, steps: int, warm_up: float
) -> torch.optim.lr_scheduler.LambdaLR:
    rising = max(1, round(warm_up * steps))

    def share(step: int) -> float:
        if step < rising:
            return (step + 1) / rising
        return 0.5 * (1 + float(np.cos(np.pi * (step - rising) / max(1, steps - rising))))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, share)


def _trainable_adapter(base: PreTrainedModel, adapter: AdapterFiles, base_name: str) -> PeftModel:
    """The base with a LoRA adapter that goes on learning."""
    model = beside(base, adapter, base_name)
    config = model.peft_config["default"]
    if config.peft_type != PeftType.LORA:
        raise AuditError(f"The adapter {adapter.folder} is no LoRA adapter.", "Make one with: python -m auditlib plant")
    config.inference_mode = False
    model.set_adapter("default")
    model.train()
    return model


def _base_facts(files: ModelFiles) -> dict[str, str | None]:
    return {"name": files.name, "weights_sha256": files.weights_sha256, "dtype": files.dtype}


def _check_rate(learning_rate: float) -> None:
    if not 0 < learning_rate < np.inf:
        raise AuditError(f"A learning rate of {learning_rate:g} teaches nothing.", "Choose one such as 0.001.")


def _check_out(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        taken = any(out.iterdir())
    except OSError as error:
        raise AuditError(f"{out} cannot be written ({error.strerror}).", "Choose another place.") from error
    if taken:
        raise AuditError(f"{out} is not empty.", "Choose an empty folder: nothing is overwritten.")


def _save(model: PeftModel, out: Path, base_name: str, recipe: dict[str, Any]) -> None:
    """Weights as float16 (their own error is far above its rounding), PEFT's configuration, and the recipe."""
    weights = {name: tensor.half().contiguous() for name, tensor in get_peft_model_state_dict(model).items()}
    if not all(bool(torch.isfinite(tensor).all()) for tensor in weights.values()):
        raise AuditError("The training came to numbers that are not finite.", "Use a lower learning rate.")
    save_file(weights, out / WEIGHTS, metadata={"format": "pt"})
    config = model.peft_config["default"]
    config.base_model_name_or_path = base_name
    config.inference_mode = True
    config.save_pretrained(str(out))
    (out / RECIPE).write_text(json.dumps(recipe, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
