"""The sweep: column by column it is torch's product, and its counts are the closed form."""

from dataclasses import replace

import pytest
import torch

from core.config import STORYTELLER
from core.cost.accounting import matmul_cost
from core.decode.sweep import SweepCounts, run_sweep, sweep_columns
from core.decode.sweep_rows import activation_rows, entering, further_stories, story_rows
from core.decode.sweep_settings import DTYPES, MAX_ROWS, PRESETS
from core.model.checkpoint import LoadedModel
from core.model.quantization import WEIGHT_DTYPES, store
from core.model.transformer import Transformer

MATRICES = tuple(STORYTELLER.matrices())
IDS = list(range(2, 40))


def layer_of(name: str, layer: int = 2) -> int | None:
    return None if name == "lm_head" else layer


@pytest.fixture(scope="module")
def model(shipped: LoadedModel) -> Transformer:
    return shipped.transformer


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 5, 64])
def test_counts_end_on_the_closed_form(
    model: Transformer, name: str, dtype: str, rows: int
) -> None:
    weight = model.weights.matrix(name, layer_of(name))
    x = activation_rows(model, IDS, name, layer_of(name), rows)
    result = run_sweep(x, weight, store(weight, dtype))
    d_in, d_out = STORYTELLER.matrices()[name]
    expected = matmul_cost(d_in, d_out, rows, dtype)
    cost = result.cost
    assert (cost.macs, cost.weight_bytes) == (expected.macs, expected.weight_bytes)
    assert cost.activation_read_bytes == expected.activation_read_bytes
    assert cost.activation_write_bytes == expected.activation_write_bytes
    assert result.counts.weights_read == d_in * d_out
    assert result.counts.flops == 2 * rows * d_in * d_out
    assert result.counts.columns == d_out


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_column_by_column_is_torchs_product(model: Transformer, name: str, dtype: str) -> None:
    weight = model.weights.matrix(name, layer_of(name))
    stored = store(weight, dtype)
    x = activation_rows(model, IDS, name, layer_of(name), 16)
    result = run_sweep(x, weight, stored)
    assert result.is_torchs_product
    exact = x.double() @ stored.dequantize().double().T
    assert float((result.output - exact).abs().max()) <= result.rounding_bound
    assert torch.equal(result.output.argmax(-1), (x @ stored.dequantize().T).argmax(-1))


def test_a_wrong_product_is_not_called_torchs(model: Transformer) -> None:
    weight = model.weights.matrix("k", 0)
    result = run_sweep(activation_rows(model, IDS, "k", 0, 4), weight, store(weight, "float32"))
    wrong = replace(result, vs_matmul=result.vs_matmul + 2 * result.rounding_bound)
    assert not wrong.is_torchs_product
    assert result.rounding_bound < 1e-2 * float(result.output.abs().max())


@pytest.mark.parametrize("name", MATRICES)
def test_fewer_bits_lose_more_and_float16_loses_nothing(model: Transformer, name: str) -> None:
    """The shipped weights are float16 on disk, so storing them so again is exact."""
    weight = model.weights.matrix(name, layer_of(name))
    x = activation_rows(model, IDS, name, layer_of(name), 8)
    lost = {d: run_sweep(x, weight, store(weight, d)).max_abs_error_vs_float32 for d in DTYPES}
    assert lost["float16"] == lost["float32"] < lost["int8"] < lost["int4"]
    assert lost["bfloat16"] > lost["float16"]


def test_a_column_adds_its_own_share() -> None:
    stored = store(torch.ones(3, 32), "int4", 16)
    counts = SweepCounts()
    for index, output in enumerate(sweep_columns(torch.ones(2, 32), stored, counts)):
        assert output.tolist() == pytest.approx([32.0, 32.0], rel=1e-3)
        done = index + 1
        assert counts.columns == done
        assert counts.weight_bytes == done * (16 + 2 * 2)  # 32 nibbles and two float16 scales
        assert counts.multiply_adds == done * 2 * 32
        assert counts.activations_written == done * 2
    assert counts.activations_read == 2 * 32


def test_weight_bytes_do_not_depend_on_rows_and_work_is_proportional_to_them() -> None:
    stored = store(torch.ones(4, 8), "float16")
    one, many = (run_sweep(torch.ones(r, 8), torch.ones(4, 8), stored).counts for r in (1, 7))
    assert one.weight_bytes == many.weight_bytes
    assert one.weights_read == many.weights_read
    assert many.flops == 7 * one.flops
    assert many.activations_written == 7 * one.activations_written


@pytest.mark.parametrize("name", MATRICES)
def test_rows_are_what_enters_the_matrix(model: Transformer, name: str) -> None:
    """Multiplying them gives what the model itself computed: queries, logits and so on."""
    x = entering(model, IDS, name, layer_of(name))
    assert x.shape == (len(IDS), STORYTELLER.matrices()[name][0])
    cache = model.new_cache()
    result = model.prefill(torch.tensor([IDS]), cache, record=True)
    product = x @ model.weights.matrix(name, layer_of(name)).T
    if name == "lm_head":
        torch.testing.assert_close(product, result.logits[0], atol=1e-4, rtol=1e-5)
    elif name == "v":
        value = cache.values(2)[0].transpose(0, 1).reshape(len(IDS), -1)
        torch.testing.assert_close(product, value, atol=1e-4, rtol=1e-5)
    elif name == "up":
        gate = x @ model.weights.matrix("gate", 2).T
        down = entering(model, IDS, "down", 2)
        torch.testing.assert_close(
            torch.nn.functional.silu(gate) * product, down, atol=1e-4, rtol=1e-5
        )


def test_the_last_token_comes_first_and_more_rows_never_change_fewer(model: Transformer) -> None:
    own = entering(model, IDS, "o", 1)
    few = activation_rows(model, IDS, "o", 1, 3)
    many = activation_rows(model, IDS, "o", 1, MAX_ROWS)
    assert torch.equal(few, own.flip(0)[:3])
    assert torch.equal(many[:3], few)
    assert torch.equal(many[: len(IDS)], own.flip(0))
    assert torch.equal(many[len(IDS) :], story_rows(model, "o", 1)[: MAX_ROWS - len(IDS)])
    assert many.shape[0] == MAX_ROWS


def test_further_stories_are_different_whole_and_always_the_same(model: Transformer) -> None:
    stories = further_stories(model, MAX_ROWS)
    assert sum(len(story) for story in stories) >= MAX_ROWS
    assert len(set(stories)) == len(stories)
    for story in stories:
        assert story[0] == STORYTELLER.bos_id
        assert STORYTELLER.end_id not in story
    further_stories.cache_clear()
    assert further_stories(model, MAX_ROWS) == stories


@pytest.mark.parametrize("rows", [0, -1, 513, 1.5, float("nan"), 1e40, "8", True])
def test_rows_out_of_range_are_refused(model: Transformer, rows: object) -> None:
    with pytest.raises(ValueError, match="rows must be a whole number from 1 to 512, got"):
        activation_rows(model, IDS, "q", 0, rows)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "layer", "message"),
    [
        ("w", 0, "matrix must be one of q, k, v, o, gate, up, down, lm_head; got 'w'"),
        ("q", None, "layer must be 0 to 3, got None"),
        ("q", 4, "layer must be 0 to 3, got 4"),
        ("lm_head", 0, "lm_head takes no layer, got 0"),
    ],
)
def test_a_matrix_that_the_model_lacks_is_refused(
    model: Transformer, name: str, layer: int | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        entering(model, IDS, name, layer)


def test_rows_that_do_not_fit_are_refused() -> None:
    weight = torch.ones(3, 8)
    for x in (torch.ones(2, 7), torch.ones(8), torch.ones(0, 8)):
        with pytest.raises(ValueError, match=r"x must have shape \(R, 8\)"):
            run_sweep(x, weight, store(weight, "float32"))


def test_settings_without_torch_name_what_can_be_stored() -> None:
    assert DTYPES == WEIGHT_DTYPES
    assert [preset.rows for preset in PRESETS] == [1, 8, 5, 64]
    assert all(1 <= preset.rows <= MAX_ROWS for preset in PRESETS)
