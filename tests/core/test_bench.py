"""Real short decode benches on the CPU: positive, labelled, consistent, the bytes exact."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch

from core.config import STORYTELLER, ModelConfig
from core.machine import decomposition
from core.machine.bench import DecodeRunner, step_traffic
from core.machine.decomposition import decompose, group_of, waterfall
from core.machine.device import cpu_device
from core.machine.fit import fit_line
from core.machine.heavy import (
    MIN_BYTES,
    fill_cache,
    heavy_config,
    matrices_of,
    random_weights,
    weight_bytes_read,
)
from core.machine.jsonable import from_plain, to_plain
from core.machine.probe import WARM_UP_S
from core.machine.products import ProductChoice
from core.machine.records import MeasureResult
from core.machine.runs import measure
from core.machine.spec import MeasureSpec
from core.model.transformer import Transformer

CPU = torch.device("cpu")
SMALL = ModelConfig(
    n_layers=2,
    d_model=256,
    n_heads=4,
    n_kv_heads=2,
    head_dim=64,
    d_ff=512,
    vocab_size=512,
    max_seq_len=512,
)
PROBE_BYTES = 16 * 2**20


@pytest.fixture(autouse=True)
def _short_and_without_traces(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Timings of a millisecond do for these tests; the thread count is put back."""
    monkeypatch.setattr("core.machine.products.SPAN_S", 0.001)
    monkeypatch.setattr("core.machine.bench.BARE_SPAN_S", 0.001)
    monkeypatch.setitem(WARM_UP_S, "cpu", 0.01)
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def _spec(**changes: Any) -> MeasureSpec:
    small = {"config": SMALL, "n_threads": 1, "probe_bytes": PROBE_BYTES, "n_steps": 8}
    return MeasureSpec(device="cpu", **{**small, **changes})


@pytest.mark.parametrize("gigabytes", [0.128, 0.5, 1.0, 14.0])
@pytest.mark.parametrize("itemsize", [2, 4])
def test_heavy_shape_has_the_size_asked_for(gigabytes: float, itemsize: int) -> None:
    config = heavy_config(int(gigabytes * 1e9), itemsize)
    assert config.n_params * itemsize == pytest.approx(gigabytes * 1e9, rel=0.02)
    assert config.d_model >= 2048
    assert config.d_ff % 64 == 0


def test_a_heavy_model_that_fits_in_any_cache_is_an_error() -> None:
    with pytest.raises(ValueError, match=f"weight_bytes must be at least {MIN_BYTES}"):
        heavy_config(MIN_BYTES - 1)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("columns", [True, False])
@pytest.mark.parametrize(
    ("dtype", "name"), [(torch.float32, "float32"), (torch.bfloat16, "bfloat16")]
)
def test_bytes_per_step_equal_the_tensors_own_sizes(
    tied: bool, columns: bool, dtype: torch.dtype, name: str
) -> None:
    config = replace(SMALL, tied_embeddings=tied)
    weights = random_weights(config, dtype, CPU, columns=columns)
    norms = [x for layer in weights.layers for x in (layer.attn_norm, layer.mlp_norm)]
    tensors = [*matrices_of(weights), *norms, weights.final_norm]
    by_tensors = sum(t.numel() * t.element_size() for t in tensors)
    traffic = step_traffic(config, name, 3, 40)
    assert traffic.weight_bytes == weight_bytes_read(weights) == by_tensors
    cache = Transformer(config, weights).new_cache(3, 40)
    fill_cache(cache, config, 40)
    assert traffic.kv_bytes == cache.bytes_in_use == cache.bytes_allocated


def test_random_weights_by_columns_hold_every_number_once() -> None:
    weights = random_weights(SMALL, torch.float32, CPU, columns=True)
    layer = weights.layers[0]
    assert layer.q.untyped_storage().data_ptr() == layer.qkv.untyped_storage().data_ptr()
    assert layer.up.untyped_storage().data_ptr() == layer.gate_up.untyped_storage().data_ptr()
    assert layer.qkv.t().is_contiguous()


@pytest.mark.parametrize("fused", [True, False])
def test_a_held_context_steps_at_the_same_position(fused: bool) -> None:
    weights = random_weights(SMALL, torch.float32, CPU)
    runner = DecodeRunner(
        SMALL, weights, ProductChoice("linear"), batch_size=2, context_len=17, fused=fused
    )
    before = runner.traffic()
    times = runner.time_steps(5)
    assert len(times) == 5
    assert min(times) > 0
    assert runner.time_block(3) > 0
    assert runner.traffic() == before
    assert before.kv_bytes == 2 * SMALL.n_layers * SMALL.kv_width * 4 * 2 * 17
    assert not runner.graphed


def test_the_runner_makes_the_step_that_the_pages_show() -> None:
    weights = random_weights(SMALL, torch.float32, CPU)
    runner = DecodeRunner(SMALL, weights, ProductChoice("matrix-vector"), context_len=9)
    model = Transformer(SMALL, weights)
    cache = model.new_cache(1, 9)
    fill_cache(cache, SMALL, 8)
    expected = model.decode_step(torch.zeros(1, 1, dtype=torch.int64), cache).logits
    assert runner.step() == int(expected.argmax())


def test_a_context_beyond_the_models_is_an_error() -> None:
    weights = random_weights(SMALL, torch.float32, CPU)
    with pytest.raises(ValueError, match="context_len must be 1 to 512, got 513"):
        DecodeRunner(SMALL, weights, ProductChoice("linear"), context_len=513)


def test_a_decode_bench_is_consistent_and_survives_the_pipe() -> None:
    events: list[dict[str, Any]] = []
    result = measure(_spec(dtype="float32"), events.append)
    point = result.points[0]
    assert point.itl_s.n == len(point.itl_samples_s) == 8
    assert point.achieved_bytes_per_s == pytest.approx(point.bytes_read / point.itl_s.p50)
    assert point.fraction_of_measured_bandwidth == pytest.approx(
        point.achieved_bytes_per_s / result.probe.median_bytes_per_s
    )
    assert point.floor_s == pytest.approx(point.bytes_read / result.probe.median_bytes_per_s)
    assert min(point.itl_samples_s) > 0
    assert point.fraction_of_nominal_bandwidth is None
    assert result.n_threads == 1
    assert result.products[0].correct
    assert sum(part.seconds for part in result.parts) == pytest.approx(point.itl_s.p50)
    assert {bar.group for bar in result.bars} >= {"products", "attention"}
    streamed = [itl for e in events if e["event"] == "steps" for itl in e["itl_s"]]
    assert tuple(streamed) == point.itl_samples_s
    assert {e["event"] for e in events} == {"device", "progress", "read", "steps"}
    assert from_plain(MeasureResult, to_plain(result)) == result


def test_a_model_in_the_cache_says_so() -> None:
    result = measure(_spec(), parts=False)
    if result.device.last_level_cache_bytes is None:
        assert result.cache_resident is None
    else:
        assert result.cache_resident is True
        assert any("figure of the cache" in note for note in result.notes)


def test_the_shipped_model_is_benched_as_it_is_served() -> None:
    spec = _spec(model="shipped", config=None, dtype="float32", context_len=64)
    result = measure(spec, parts=False)
    assert result.config == STORYTELLER
    assert result.points[0].weight_bytes_read == STORYTELLER.n_params * 4


@pytest.mark.parametrize(
    ("kind", "sweep"), [("batch sweep", (1, 2, 4)), ("context sweep", (16, 64, 256))]
)
def test_sweeps_vary_one_thing(kind: Any, sweep: tuple[int, ...]) -> None:
    result = measure(_spec(kind=kind, sweep=sweep, n_steps=2))
    varied = [p.batch_size if kind == "batch sweep" else p.context_len for p in result.points]
    held = {p.context_len if kind == "batch sweep" else p.batch_size for p in result.points}
    assert tuple(varied) == sweep
    assert len(held) == 1
    assert len({p.weight_bytes_read for p in result.points}) == 1
    kv = [p.kv_bytes_read for p in result.points]
    assert [b / kv[0] for b in kv] == [v / sweep[0] for v in sweep]
    assert result.parts == ()


def test_a_probe_alone_has_no_points() -> None:
    result = measure(_spec(kind="probe", config=None, n_steps=20))
    assert result.points == ()
    assert len(result.probe.runs_bytes_per_s) == 20
    assert result.config is None


def test_a_model_that_does_not_fit_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    device = replace(cpu_device(), memory_free_bytes=2_000_000)
    monkeypatch.setattr("core.machine.runs.find_device", lambda _: device)
    with pytest.raises(ValueError, match=r"weights and K/V caches need .* GB; at most 0.0 GB"):
        measure(_spec())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_steps": 0}, "n_steps must be 1 to"),
        ({"batch_size": 0}, "batch_size must be 1 to"),
        ({"context_len": 0}, "context_len must be 1 to"),
        ({"dtype": "int8"}, "dtype must be one of"),
        ({"kind": "guess"}, "kind must be one of"),
        ({"n_threads": 0}, "n_threads must be at least 1"),
        ({"sweep": (0,)}, "sweep must hold numbers"),
        ({"weight_bytes": 10**9}, "exclude each other"),
    ],
)
def test_specs_out_of_range_are_errors(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _spec(**changes)


@pytest.mark.parametrize("damage", [{"n_steps": "8"}, {"surprise": 1}, {"n_threads": True}])
def test_damaged_records_are_errors(damage: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="MeasureSpec"):
        from_plain(MeasureSpec, {**to_plain(_spec()), **damage})


def test_parts_add_up_even_when_the_parts_timed_alone_are_slower() -> None:
    for products_s, attention_s in ((0.02, 0.0), (0.004, 0.02), (0.0, 0.0)):
        parts = decompose(0.01, products_s, attention_s, 10**6, 1e9)
        assert sum(part.seconds for part in parts) == pytest.approx(0.01)
        assert min(part.seconds for part in parts) >= 0
    assert [part.kind for part in parts] == ["measured", "modelled", "measured", "measured"]
    with pytest.raises(ValueError, match="at least 0"):
        decompose(-1.0, 0.0, 0.0, 0, 1.0)


def test_the_waterfall_is_in_order_and_starts_at_zero() -> None:
    weights = random_weights(SMALL, torch.float32, CPU)
    runner = DecodeRunner(SMALL, weights, ProductChoice("matrix-vector"), context_len=9)
    bars = waterfall(runner.eager_step, CPU)
    assert bars[0].start_s == 0
    assert [bar.start_s for bar in bars] == sorted(bar.start_s for bar in bars)
    assert sum(bar.group == "products" for bar in bars) == 4 * SMALL.n_layers + 1


def test_kernel_names_of_a_gpu_fall_into_groups() -> None:
    assert group_of("void gemv2T_kernel_val<int, int, __nv_bfloat16>") == "products"
    assert group_of("flash_fwd_splitkv_kernel") == "attention"
    assert group_of("vectorized_elementwise_kernel") == "other"
    assert decomposition.group_of("indexSelectSmallIndex") == "copies"


def test_a_line_needs_two_different_x() -> None:
    with pytest.raises(ValueError, match="2 different x"):
        fit_line([1.0, 1.0], [2.0, 3.0])
    assert fit_line([0.0, 1.0], [2.0, 1.0]).bandwidth_bytes_per_s is None
