"""What a deployment allows to be measured, from its environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from core.machine.spec import MeasureSpec

MODES = ("on", "light", "off")
ITEM_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}


@dataclass(frozen=True)
class Caps:
    """Limits of one deployment.

    mode: "on" allows all, "light" only the probe and the shipped model, "off" nothing.
    max_probe_bytes: None lets the probe's buffer be past all caches, as it should be. n_threads:
    None lets a short sweep choose; a host that serves others too may leave it fewer.
    max_weight_bytes: None leaves the size to the memory that is free. max_run_s: a run that
    takes longer is stopped. max_queue: waiting measurements.
    """

    mode: str = "on"
    max_weight_bytes: int | None = None
    max_probe_bytes: int | None = None
    n_threads: int | None = None
    max_run_s: float = 600.0
    max_queue: int = 32
    max_steps: int = 20_000

    @staticmethod
    def from_environment(environment: Mapping[str, str]) -> Caps:
        """Read ONE_NEW_ROW_MEASURE and its limits; what is not set keeps its default.

        Raises: ValueError naming the variable, what it may be and what it is.

        >>> Caps.from_environment({"ONE_NEW_ROW_MEASURE": "light"}).mode
        'light'
        """
        prefix = "ONE_NEW_ROW_MEASURE"
        mode = environment.get(prefix, "on")
        if mode not in MODES:
            raise ValueError(f"{prefix} must be one of {', '.join(MODES)}, got {mode!r}")

        def limit(name: str, default: int | None) -> int | None:
            text = environment.get(f"{prefix}_{name}")
            if text is None:
                return default
            if not text.isdecimal() or int(text) < 1:
                raise ValueError(
                    f"{prefix}_{name} must be a whole number of at least 1, got {text!r}"
                )
            return int(text)

        plain = Caps()
        return Caps(
            mode=mode,
            max_weight_bytes=limit("MAX_BYTES", None),
            max_probe_bytes=limit("MAX_PROBE_BYTES", None),
            n_threads=limit("THREADS", None),
            max_run_s=float(limit("MAX_SECONDS", int(plain.max_run_s)) or 0),
            max_queue=limit("MAX_QUEUE", plain.max_queue) or 0,
            max_steps=limit("MAX_STEPS", plain.max_steps) or 0,
        )

    def allowed(self, spec: MeasureSpec) -> MeasureSpec:
        """The spec as it may run: a size left open is cut to the limit.

        Raises: ValueError with a sentence for the page where it may not run.
        """
        if self.mode == "off":
            raise ValueError("Measurements are switched off on this deployment.")
        if self.mode == "light" and spec.is_heavy:
            raise ValueError("Weights-heavy measurements are switched off on this deployment.")
        if spec.n_steps > self.max_steps:
            raise ValueError(f"n_steps must be 1 to {self.max_steps} here, got {spec.n_steps}")
        if self.max_probe_bytes is not None:
            wanted = spec.probe_bytes or self.max_probe_bytes
            spec = replace(spec, probe_bytes=min(wanted, self.max_probe_bytes))
        if self.n_threads is not None:
            spec = replace(spec, n_threads=self.n_threads)
        limit = self.max_weight_bytes
        if limit is None or not spec.is_heavy:
            return spec
        if spec.config is None and spec.weight_bytes is None:
            return replace(spec, weight_bytes=limit)
        n_bytes = spec.weight_bytes
        if spec.config is not None:
            n_bytes = spec.config.n_params * ITEM_BYTES[spec.dtype]
        if n_bytes is not None and n_bytes > limit:
            raise ValueError(
                f"This deployment allows weights of at most {limit / 1e9:g} GB, "
                f"{n_bytes / 1e9:g} GB were asked for."
            )
        return spec
