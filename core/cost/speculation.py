"""Speculative decoding in formulas: three different numbers that are all called acceptance.

Source: Leviathan et al., arXiv 2211.17192; acceptance independent from token to token.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.cost import checks


@dataclass(frozen=True)
class SpeculationForecast:
    """What g drafted tokens per pass are expected to bring.

    tokens_per_step counts the bonus token that the target itself adds;
    share_of_drafts_accepted is per drafted token and below the per-token acceptance, because
    a pass stops at its first miss. A speed-up below 1 is a slowdown.
    """

    tokens_per_step: float
    accepted_drafts_per_step: float
    share_of_drafts_accepted: float
    speedup: float


def forecast(acceptance: float, draft_length: int, draft_cost: float = 0.0) -> SpeculationForecast:
    """Return the expectation for per-token acceptance a, draft length g and relative cost c.

    Tokens per step (1 - a^(g+1)) / (1 - a), summed so that a = 1 gives g + 1;
    speed-up = tokens per step / (g c + 1).

    Raises: ValueError unless 0 <= a <= 1, g >= 1 and c >= 0

    >>> round(forecast(0.8, 5).tokens_per_step, 5)
    3.68928
    >>> forecast(1.0, 4).tokens_per_step
    5.0
    """
    checks.whole("draft_length", draft_length, 1, 10_000)
    if not 0 <= acceptance <= 1:
        raise ValueError(f"acceptance must be from 0 to 1, got {acceptance!r}")
    if not 0 <= draft_cost <= 1e6:
        raise ValueError(f"draft_cost must be from 0 to 1,000,000, got {draft_cost!r}")
    tokens = float(sum(acceptance**i for i in range(draft_length + 1)))
    accepted = tokens - 1
    return SpeculationForecast(
        tokens_per_step=tokens,
        accepted_drafts_per_step=accepted,
        share_of_drafts_accepted=accepted / draft_length,
        speedup=tokens / (draft_length * draft_cost + 1),
    )


def implied_draft_cost(acceptance: float, draft_length: int, speedup: float) -> float:
    """Return the relative draft cost behind a published speed-up, (E / speed-up - 1) / g.

    >>> round(implied_draft_cost(0.75, 7, 3.4), 3)
    0.008
    """
    expected = forecast(acceptance, draft_length).tokens_per_step
    return (expected / checks.positive("speedup", speedup) - 1) / draft_length
