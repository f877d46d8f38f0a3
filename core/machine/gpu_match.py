"""Find in the driver's list the GPU that torch computes on: by UUID or PCI address, never by index.

torch counts the devices it may see, fastest first; the driver counts all of them, by PCI
address. With ``CUDA_VISIBLE_DEVICES`` set, or two kinds of GPU, the same index is two devices.
"""

from __future__ import annotations

from collections.abc import Sequence


def bare_uuid(uuid: str) -> str:
    """A UUID without its prefix, in lower case, so that two spellings compare equal.

    >>> bare_uuid("GPU-BBBB-01"), bare_uuid("bbbb-01")
    ('bbbb-01', 'bbbb-01')
    """
    return uuid.lower().removeprefix("gpu-").removeprefix("mig-")


def unique_prefix(part: str, uuids: Sequence[str]) -> str | None:
    """The one UUID that starts with ``part`` (a shortened UUID is legal), or None.

    >>> unique_prefix("GPU-bb", ["GPU-aaaa", "GPU-bbbb"]), unique_prefix("GPU-", ["GPU-a", "GPU-b"])
    ('GPU-bbbb', None)
    """
    found = [uuid for uuid in uuids if bare_uuid(uuid).startswith(bare_uuid(part))]
    return found[0] if len(found) == 1 else None


def visible_uuids(cuda_visible_devices: str | None, uuids: Sequence[str]) -> tuple[str, ...]:
    """The devices the variable leaves visible, in its order; the driver's own where it is unset.

    As CUDA does, reading stops at the first entry that names no device: an empty value and
    "-1" leave none, and so does a MIG slice, which is not in the list of whole devices.

    >>> visible_uuids("1", ["GPU-aaaa", "GPU-bbbb"]), visible_uuids("-1", ["GPU-aaaa"])
    (('GPU-bbbb',), ())
    """
    if cuda_visible_devices is None:
        return tuple(uuids)
    visible = []
    for entry in cuda_visible_devices.split(","):
        name = entry.strip()
        if name.isdecimal() and int(name) < len(uuids):
            visible.append(uuids[int(name)])
        elif name.startswith("GPU-") and (match := unique_prefix(name, uuids)):
            visible.append(match)
        else:
            break
    return tuple(visible)


def matching_uuid(
    uuids: Sequence[str],
    *,
    torch_uuid: str | None = None,
    torch_index: int = 0,
    cuda_visible_devices: str | None = None,
) -> str | None:
    """The driver's UUID of torch's device, or None where it is not a whole device of the list.

    What torch itself reports decides; only without it are the visible devices counted.

    >>> matching_uuid(["GPU-aaaa", "GPU-bbbb"], torch_uuid="bbbb")
    'GPU-bbbb'
    """
    if torch_uuid is not None:
        return unique_prefix(torch_uuid, uuids)
    visible = visible_uuids(cuda_visible_devices, uuids)
    return visible[torch_index] if torch_index < len(visible) else None
