"""The headless twin: ``python -m core <command> --json`` prints one JSON object.

Errors are one line on standard error and exit code 2. A command's module is imported when it
is asked for, so that a command without a model never loads torch.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import cast

from core.commands.common import Command, StrictParser, fail, to_json
from core.model.errors import CheckpointError

COMMANDS = {
    "trace": "one run: attention rows, shapes, likeliest tokens and the proof",
    "generate": "new tokens for a prompt, with their latencies",
    "cost": "bytes, FLOPs and the floor of a decode step for any model",
    "sweep": "rows through one weight matrix, column by column, counted",
    "measure": "this machine's bandwidth and inter-token latency",
}
"""Command names, each a module in ``core.commands``, with what it gives."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] in ([], ["-h"], ["--help"]):
        return _help(wanted=bool(arguments))
    name = arguments[0]
    if name not in COMMANDS:
        fail(f"unknown command {name!r}; the commands are {', '.join(COMMANDS)}")
    command = cast(Command, importlib.import_module(f"core.commands.{name}"))
    parser = StrictParser(prog=f"python -m core {name}", description=COMMANDS[name])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    command.add_arguments(parser)
    args = parser.parse_args(arguments[1:])
    try:
        result = command.run(args)
        text = to_json(result) if args.json else command.summary(result)
    except (ValueError, CheckpointError, OSError) as error:
        fail(str(error))
    return _write(text)


def _write(text: str) -> int:
    """Print the text; characters that the terminal cannot show are escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except BrokenPipeError:  # the reader, such as `head`, has what it wanted
        sys.stderr.close()
        return 1
    return 0


def _help(*, wanted: bool) -> int:
    if not wanted:
        fail(f"a command is needed: {', '.join(COMMANDS)}")
    lines = [f"  {name:<10} {what}" for name, what in COMMANDS.items()]
    print("\n".join(["usage: python -m core <command> [flags] [--json]", "", *lines]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
