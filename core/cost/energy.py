"""Energy of a decode step: bytes moved, FLOPs and standing power, each with its source.

A model, not a measurement. Constants are for the memory device and the arithmetic unit alone;
real chips add wires, caches and control, so treat the result as the order of magnitude.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.cost import checks
from core.cost.formula import Formula, Number
from core.cost.spec import AcceleratorSpec

IDLE_SHARE_OF_TDP = 0.1


@dataclass(frozen=True)
class EnergyConstant:
    """One constant of the model. verified: the figure was read in the source itself."""

    name: str
    value: float
    unit: str
    source: str
    verified: bool


MEMORY_PJ_PER_BIT: dict[str, EnergyConstant] = {
    "HBM": EnergyConstant(
        "HBM2E access", 6.0, "pJ/bit",
        "Micron comparison of ultra-bandwidth memories, average device power (a copy of the "
        "table was read); O'Connor et al. 2017 give 3.9 for HBM2", True,
    ),
    "GDDR": EnergyConstant(
        "GDDR6 access", 7.5, "pJ/bit",
        "Micron comparison of ultra-bandwidth memories (a copy of the table was read)", True,
    ),
    "LPDDR": EnergyConstant(
        "LPDDR4 access", 7.0, "pJ/bit", "secondary sources quoting a Micron data sheet", False
    ),
    "DDR": EnergyConstant(
        "DDR access", 20.0, "pJ/bit",
        "Horowitz, ISSCC 2014: 1.3 to 2.6 nJ per 64-bit DRAM read, the lower end (recalled)",
        False,
    ),
}  # fmt: skip
FLOP_PJ = EnergyConstant(
    "16-bit multiply-add", 0.75, "pJ/FLOP",
    "Horowitz, ISSCC 2014, 45 nm: 1.1 pJ multiply + 0.4 pJ add, halved per FLOP; newer "
    "processes need less in the unit and more around it", True,
)  # fmt: skip
IDLE_POWER = EnergyConstant(
    "standing power", IDLE_SHARE_OF_TDP, "share of TDP", "assumption, type your own", False
)


def memory_constant(accelerator: AcceleratorSpec) -> EnergyConstant | None:
    """Return the energy per bit of an accelerator's kind of memory, None where unknown."""
    for family in ("LPDDR", "GDDR", "HBM", "DDR"):
        if accelerator.memory_type.startswith(family):
            return MEMORY_PJ_PER_BIT[family]
    return None


def energy_per_token_formula(
    n_bytes: Number,
    flops: Number,
    seconds: float,
    batch: int,
    accelerator: AcceleratorSpec,
    n_devices: int = 1,
    static_w: float | None = None,
) -> Formula | None:
    """Return joules per token: (8 bytes e_bit + FLOPs e_flop + P_static t) / B.

    ``static_w`` is per device and defaults to a tenth of its TDP; None without either.

    Raises: ValueError if a given power is not above 0
    """
    constant = memory_constant(accelerator)
    if static_w is None and accelerator.tdp_w is not None:
        static_w = IDLE_SHARE_OF_TDP * accelerator.tdp_w
    if constant is None or static_w is None:
        return None
    variables: dict[str, Number] = {
        "bytes_moved": n_bytes,
        "pj_per_bit": constant.value,
        "flops": flops,
        "pj_per_flop": FLOP_PJ.value,
        "static_w": checks.positive("static_w", static_w, 1e6),
        "n_devices": n_devices,
        "step_s": seconds,
        "batch": batch,
    }
    expression = (
        "((8 * bytes_moved * pj_per_bit + flops * pj_per_flop) / 1000000000000"
        " + static_w * n_devices * step_s) / batch"
    )
    return Formula("energy_j_per_token", expression, variables, "J")
