"""The verdict on "the cached step equals the full pass", readable without torch."""

from __future__ import annotations

from dataclasses import dataclass

# Largest differences that rounding explains, per precision: logits, attention weights.
# Measured over 200 steps: 2.4e-5 and 1.6e-6 in float32, 0.16 and 2.7e-2 in bfloat16.
TOLERANCES = {"float32": (1e-3, 1e-4), "bfloat16": (1.0, 5e-2)}


@dataclass(frozen=True)
class StepProof:
    """One pass with the cache compared with a full pass without one, on the same tokens.

    Differences are the largest over the pass's last token: over all logits, and over its rows
    in all layers and heads. ``trace_diff`` compares the rows shown with those computed again
    for this proof. ``top_gap`` is the full pass's lead of the likeliest token over the second.
    """

    index: int
    dtype: str
    max_abs_logit_diff: float
    max_abs_row_diff: float
    same_argmax: bool
    old_kv_unchanged: bool
    appended: int
    n_new: int
    trace_diff: float
    top_gap: float
    logit_span: float

    @property
    def identical(self) -> bool:
        """Whether every number compared is the same, bit for bit."""
        return self.max_abs_logit_diff == 0.0 and self.max_abs_row_diff == 0.0

    @property
    def ok(self) -> bool:
        """Whether the claim holds up to the rounding of this precision.

        A different likeliest token counts against it unless the two likeliest are nearer to
        each other than rounding can tell.
        """
        logit_limit, row_limit = TOLERANCES[self.dtype]
        return (
            self.max_abs_logit_diff <= logit_limit
            and max(self.max_abs_row_diff, self.trace_diff) <= row_limit
            and (self.same_argmax or self.top_gap <= logit_limit)
            and self.old_kv_unchanged
            and self.appended == self.n_new
        )


@dataclass(frozen=True)
class RunProof:
    """The proofs of a run's passes, prefill first, and what they show together."""

    dtype: str
    same_order: bool
    steps: tuple[StepProof, ...]

    @property
    def ok(self) -> bool:
        """Whether every step holds."""
        return all(step.ok for step in self.steps)

    @property
    def identical(self) -> bool:
        """Whether every step is the same, bit for bit."""
        return all(step.identical for step in self.steps)

    @property
    def max_abs_logit_diff(self) -> float:
        """The largest difference of a logit in any step."""
        return max(step.max_abs_logit_diff for step in self.steps)

    @property
    def max_abs_row_diff(self) -> float:
        """The largest difference of an attention weight in any step, layer and head."""
        return max(step.max_abs_row_diff for step in self.steps)

    @property
    def reason(self) -> str:
        """Why the numbers are equal or nearly equal, in plain words."""
        if not self.ok:
            return (
                "The difference is larger than rounding explains: the cached pass and the full "
                "pass did not compute the same thing."
            )
        if self.identical:
            return _IDENTICAL_SAME_ORDER if self.same_order else _IDENTICAL
        span = max(step.logit_span for step in self.steps)
        size = f"at most {self.max_abs_logit_diff:.1e}, on logits that span {span:.0f}"
        reason = _ROUNDING[self.dtype].format(size=size)
        return f"{reason} {_ORDER_LEFT if self.same_order else _ORDER_HINT}"


_IDENTICAL = "Both ways gave the same numbers bit for bit, on this machine and in this run."
_IDENTICAL_SAME_ORDER = (
    "With both ways adding in the same order, every number is the same bit for bit: the cache "
    "is exact mathematics, the rest was rounding."
)
_ROUNDING = {
    "float32": (
        "float32 rounds every sum, and a product of one row adds its terms in another order "
        "than a product of many rows; the two ways differ by {size}."
    ),
    "bfloat16": (
        "bfloat16 keeps only 8 significant bits, so sums taken in another order or over "
        "another length round visibly apart; the two ways differ by {size}."
    ),
}
_ORDER_HINT = "The same summation order in both removes the cause."
_ORDER_LEFT = (
    "The same summation order was asked for, but this machine's arithmetic still adds a few "
    "terms differently."
)
