#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Generates the Fortran interfaces of the library: the calls from fortran.txt, the constants from mpi.h.

usage: fortran.py FOLDER
"""

import re
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
HANDLES = ("Comm", "Group", "Datatype", "Request", "Op", "Errhandler", "Message", "Info")
NAMES = {
    "buffer": ("buf", "buffer", "sendbuf", "recvbuf", "inbuf", "outbuf"),
    "comm": ("newcomm",),
    "datatype": ("oldtype", "newtype", "sendtype", "recvtype"),
    "group": ("newgroup",),
    "logical": ("flag",),
    "request": ("array_of_requests",),
    "status": ("array_of_statuses",),
}
DEFAULTS = {name.lower(): name.lower() for name in (*HANDLES, "Status")} | {
    name: kind for kind, names in NAMES.items() for name in names
}
C_TYPES = {"buffer": "void *", "bytes": "void *", "aint": "MPI_Aint *", "function": "MPI_User_function *"}
INTENTS = {"": "in", "<": "in", "&": "in", ">": "out", "=": "inout"}
LICENCE = "SPDX-License-Identifier: Apache-2.0 OR MIT\n"


class Argument:
    """An argument of a call."""

    def __init__(self, text: str) -> None:
        """Read an argument of the table."""
        found = re.fullmatch(r"([<>=&]?)(\w+)(?::(\w+))?(\*?)", text)
        if found is None:
            sys.exit(f"fortran.txt: found {text!r}, expected an argument as the head of the file describes")
        self.mark, self.name, kind, array = found.groups()
        self.kind: str = kind or DEFAULTS.get(self.name, "int")
        self.is_array = bool(array)
        self.is_buffer = self.kind in {"buffer", "bytes"}

    def declaration(self, *, modern: bool) -> list[str]:
        """Give the lines that declare it in module `mpi_f08` or `mpi`."""
        if self.is_buffer:
            return [f"!GCC$ ATTRIBUTES NO_ARG_CHECK :: {self.name}", f"type(*) :: {self.name}(*)"]
        shape = "(*)" if self.is_array else ""
        if self.kind == "logical":
            kind = "logical"
        elif self.kind == "aint":
            kind = "integer(MPI_ADDRESS_KIND)"
        elif self.kind == "int" or not modern:
            kind, shape = "integer", "(MPI_STATUS_SIZE)" if self.kind == "status" else shape
        else:
            kind = f"type(MPI_{self.kind.capitalize()})"
        intent = "" if self.kind == "status" and not self.mark else f", intent({INTENTS[self.mark]})"
        return [f"{kind}{intent} :: {self.name}{shape}"]

    def parameter(self) -> str:
        """Give the parameter of the C function."""
        if self.kind == "ranges":
            return f"int {self.name}[][3]"
        return f"{C_TYPES.get(self.kind, 'int *')}{self.name}"

    def passed(self) -> str:
        """Give what the C function passes on."""
        if self.kind == "status":
            return f"(MPI_Status *){self.name}" if self.mark == "<" else f"mb_status({self.name})"
        if self.kind == "buffer":
            return f"mb_buffer({self.name})"
        by_address = self.mark or self.is_array or self.kind in {"bytes", "function"}
        return self.name if by_address else f"*{self.name}"


class Call:
    """A line of the table."""

    def __init__(self, line: str) -> None:
        """Read a line."""
        name, *arguments = line.split()
        self.by_hand, self.in_f08 = "!" in name, "-" not in name
        self.name, _, other = name.lstrip("!-").partition("=")
        self.calls = other or self.name
        self.arguments = [Argument(text) for text in arguments]

    def interface(self, *, modern: bool) -> str:
        """Give the interface in module `mpi_f08` or `mpi`."""
        names = ", ".join([*(each.name for each in self.arguments), "ierror"])
        head = " &\n        ".join(textwrap.wrap(f"subroutine MPI_{self.name}({names})", 100))
        lines = [line for each in self.arguments for line in each.declaration(modern=modern)]
        lines.append(f"integer, {'optional, ' if modern else ''}intent(out) :: ierror")
        body = "".join(f"      {line}\n" for line in ["import", *lines])
        return f"    {head}\n{body}    end subroutine MPI_{self.name}\n"

    def function(self) -> str:
        """Give the C function."""
        parameters = ", ".join([*(each.parameter() for each in self.arguments), "int *error"])
        passed = ", ".join(each.passed() for each in self.arguments)
        return f"CALL({self.name.lower()}, ({parameters}), MPI_{self.calls}({passed}))\n"


def sections() -> dict[str, list[Call]]:
    """Read the table."""
    found: dict[str, list[Call]] = {}
    for line in (HERE / "fortran.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            found[line.strip("[]")] = []
        elif line and not line.startswith("#"):
            found[[*found][-1]].append(Call(line))
    return found


def constants() -> dict[str, tuple[str, int]]:
    """Read the numbers of mpi.h: name -> handle, or nothing, and number."""
    header = (HERE / "mpi.h").read_text(encoding="utf-8")
    found = {}
    pattern = r"^#define (MPI_\w+) \(?(?:\(MPI_(\w+)\))?(-?(?:0x[0-9a-f]+|\d+))\)*$"
    for name, handle, number in re.findall(pattern, header, re.M):
        if handle in ("", *HANDLES):
            # Text has no zero at its end in Fortran.
            found[name] = (handle, int(number, 0) - name.startswith("MPI_MAX_"))
    for names in re.findall(r"^enum \{([^}]*)\};", header, re.M):
        number = -1
        for name, _, given in (each.partition("=") for each in names.split(",")):
            number = int(given) if given else number + 1
            found[name.strip()] = ("", number)
    found["MPI_STATUS_SIZE"] = found.pop("MPI_F_STATUS_SIZE")
    kinds = {"ADDRESS": 8, "OFFSET": 8, "COUNT": 8, "INTEGER": 4}
    return found | {f"MPI_{kind}_KIND": ("", size) for kind, size in kinds.items()}


def compared(operator: str, name: str) -> str:
    """Give the interfaces that compare handles (MPI 3.1, 17.1.2)."""
    lines = [f"  interface operator({operator})"]
    for handle in HANDLES:
        function = f"mb_f08_{handle.lower()}_{name}"
        lines += [f"    pure function {function}(a, b) result(is_{name})", "      import"]
        lines += [f"      type(MPI_{handle}), intent(in) :: a, b", f"      logical :: is_{name}"]
        lines.append(f"    end function {function}")
    return "\n".join([*lines, f"  end interface operator({operator})\n"])


def files() -> dict[str, str]:
    """Give the texts of the files."""
    table, numbers = sections(), constants()
    calls = [call for section in table.values() for call in section]
    types = [
        f"  type, bind(C) :: MPI_{each}\n    integer(c_int) :: MPI_VAL\n  end type\n" for each in HANDLES
    ]
    modern = [
        f"  type(MPI_{handle}), parameter :: {name} = MPI_{handle}({number})\n"
        if handle
        else f"  integer, parameter :: {name} = {number}\n"
        for name, (handle, number) in numbers.items()
    ]
    plain = [
        f"      integer {name}\n      parameter ({name}={number})\n" for name, (_, number) in numbers.items()
    ]
    buffers = [each for each in calls if any(argument.is_buffer for argument in each.arguments)]
    fortran = {
        "mpif_constants.inc": plain,
        "mpi_module_buffers.inc": [each.interface(modern=False) for each in buffers],
        "mpi_f08_handles.inc": [*types, *modern, compared("==", "same"), compared("/=", "other")],
        "mpi_f08_calls.inc": [each.interface(modern=True) for each in calls if each.in_f08],
    }
    c = {
        f"fortran_{name}.inc": [each.function() for each in section if not each.by_hand]
        for name, section in table.items()
    }
    return {name: "".join([f"! {LICENCE}", *parts]) for name, parts in fortran.items()} | {
        name: "".join([f"// {LICENCE}", *parts]) for name, parts in c.items()
    }


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for name, text in files().items():
        (Path(sys.argv[1]) / name).write_text(text, encoding="utf-8")
