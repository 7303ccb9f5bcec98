"""The layers, enforced from the include lines: dependencies point one way, and libraries stay where they belong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE_SUFFIXES = {".h", ".hpp", ".cc", ".cpp"}
LAYERS = ("core", "platform", "sim", "live", "search", "bindings")
MAY_INCLUDE = {
    "core": {"core"},
    "platform": {"core", "platform"},
    "sim": {"core", "platform", "sim"},
    "live": {"core", "platform", "live"},
    "search": {"core", "platform", "sim", "live", "search"},
    "bindings": {"core", "platform", "sim", "live", "search", "bindings"},
}
# What gives a simulation other than its inputs: clocks, threads, sockets, chance, files.
FORBIDDEN_IN_CORE = re.compile(
    r"^(chrono|thread|mutex|condition_variable|future|atomic|random|fstream|iostream|filesystem|ctime|time\.h"
    r"|unistd\.h|pthread\.h|signal\.h|csignal|fcntl\.h|sys/.*|netinet/.*|arpa/.*|netdb\.h|poll\.h)$"
)
# The simulated world may hold its own processes' state, and files for SimGrid's platforms, but no clock or chance.
FORBIDDEN_IN_SIM = re.compile(
    r"^(chrono|thread|mutex|condition_variable|future|random|ctime|time\.h|unistd\.h|pthread\.h|sys/.*)$"
)
LIBRARY_HOMES = {  # what is included → the only places it may be included from
    r"^simgrid/|^xbt": r"^sim/network/simgrid[^/]*$",
    r"^(librdkafka/|rdkafka)": r"^live/ports/",
    r"^nats(/|\.h)": r"^live/ports/",
    r"^hiredis/|^amqp": r"^live/ports/",
    r"^Eigen/": r"^core/stats/|^core/modules/vector_store[^/]*$",
    r"^pybind11/": r"^bindings/",
}
# Names alone (json_fwd.hpp) weigh nothing.
NOT_IN_HEADERS = re.compile(r"^(nlohmann/(?!json_fwd\.hpp$)|toml\+\+/|toml\.hpp|simgrid/|xbt|Eigen/)")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def sources() -> Iterator[Path]:
    for layer in LAYERS:
        for path in sorted((ROOT / layer).rglob("*")):
            if path.suffix in SOURCE_SUFFIXES:
                yield path


def includes() -> list[tuple[str, str]]:
    found = []
    for path in sources():
        found += [(path.relative_to(ROOT).as_posix(), name) for name in INCLUDE.findall(path.read_text())]
    return found


INCLUDES = includes()


def layer_of(name: str) -> str | None:
    first = name.split("/", 1)[0]
    return first if first in LAYERS and "/" in name else None


def test_there_is_something_to_check() -> None:
    assert len(INCLUDES) > 50


@pytest.mark.parametrize("layer", LAYERS)
def test_dependencies_point_one_way(layer: str) -> None:
    wrong = [
        f"{file} includes {name}"
        for file, name in INCLUDES
        if layer_of(file) == layer and (target := layer_of(name)) and target not in MAY_INCLUDE[layer]
    ]
    assert wrong == []


def test_project_headers_are_named_from_the_root() -> None:
    names = {path.relative_to(ROOT).as_posix() for path in sources()}
    wrong = [
        f"{file} includes {name}"
        for file, name in INCLUDES
        if name not in names and (Path(file).parent / name).as_posix() in names
    ]
    assert wrong == []


def test_core_reaches_for_no_outside_world() -> None:
    wrong = [
        f"{file} includes {name}"
        for file, name in INCLUDES
        if layer_of(file) == "core" and FORBIDDEN_IN_CORE.match(name)
    ]
    assert wrong == []


def test_the_simulation_has_no_clock_and_no_chance() -> None:
    wrong = [
        f"{file} includes {name}" for file, name in INCLUDES if layer_of(file) == "sim" and FORBIDDEN_IN_SIM.match(name)
    ]
    assert wrong == []


@pytest.mark.parametrize(("library", "home"), LIBRARY_HOMES.items())
def test_libraries_stay_at_home(library: str, home: str) -> None:
    wrong = [
        f"{file} includes {name}" for file, name in INCLUDES if re.match(library, name) and not re.match(home, file)
    ]
    assert wrong == []


def test_heavy_libraries_are_in_no_header() -> None:
    wrong = [f"{file} includes {name}" for file, name in INCLUDES if file.endswith(".h") and NOT_IN_HEADERS.match(name)]
    assert wrong == []


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        ("core", r"\b(std::unordered_\w+|std::random_device|std::mt19937|rand\(\)|time\(nullptr\)|getenv)\b"),
        (
            "sim",
            r"\b(std::unordered_\w+|std::random_device|std::mt19937|std::\w+_distribution|std::function)\b",
        ),
        ("sim", r"\bstd::(sin|cos|tan|exp|log|log2|log10|pow|expm1|log1p)\("),
    ],
)
def test_nothing_that_differs_between_machines(layer: str, words: str) -> None:
    """Unordered iteration, the library's distributions and libm give other results elsewhere."""
    pattern = re.compile(words)
    wrong = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sources()
        if path.relative_to(ROOT).parts[0] == layer
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line.split("//")[0])
    ]
    assert wrong == []
