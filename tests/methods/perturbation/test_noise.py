"""The language of noise: what it means, that it is written as it is read, and how it is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppdm_sql.errors import InvalidOption
from ppdm_sql.methods.perturbation.noise import (
    Cells,
    Domain,
    Gaussian,
    Noise,
    Retain,
    Uniform,
    as_json,
    as_text,
    from_json,
    parse_all_noise,
    parse_noise,
    resolve_noise,
    written_name,
)
from ppdm_sql.privacy.quoting import read_share

SALARY = Domain(20_000, 150_000)

numbers = st.floats(-1e12, 1e12, allow_nan=False)
scales = st.floats(1e-9, 1e12)
domains = st.builds(
    lambda lower, width, whole: Domain(lower, lower + width, whole),
    st.floats(-1e9, 1e9),
    st.floats(1e-3, 1e9),
    st.booleans(),
)
texts = st.lists(st.text(min_size=0, max_size=8), min_size=2, max_size=5, unique=True).map(tuple)
noises: st.SearchStrategy[Noise] = st.one_of(
    st.builds(Gaussian, scales, domains, st.booleans()),
    st.builds(Uniform, scales, domains, st.booleans()),
    st.lists(numbers, min_size=3, max_size=6, unique=True).map(lambda edges: Cells(tuple(sorted(edges)))),
    st.builds(Retain, st.floats(0.001, 0.999), texts),
)


@given(noises)
def test_what_is_written_is_read_exactly(noise: Noise) -> None:
    assert resolve_noise(parse_noise(as_text(noise))) == noise


@given(noises)
def test_the_catalogue_keeps_noise_exactly(noise: Noise) -> None:
    assert from_json(json.loads(json.dumps(as_json(noise)))) == noise


@given(st.text(min_size=1, max_size=12))
def test_any_name_can_stand_before_the_noise(name: str) -> None:
    assert parse_noise(f"{written_name(name)}=gaussian 2").column == name


@pytest.mark.parametrize(
    ("text", "noise"),
    [
        ("salary=gaussian 2500", Gaussian(2500, SALARY)),
        ("gaussian 2.5e3 on 0,9", Gaussian(2500, Domain(0, 9))),
        ("UNIFORM 0.5 ROUNDED ON -1,1 whole", Uniform(0.5, Domain(-1, 1, whole=True), rounded=True)),
        ("uniform 100% at 50%", Uniform(130_000, SALARY)),
        ("uniform 50 % at 0.95", Uniform(130_000 / 2 / 1.9, SALARY)),
        ("cells 2", Cells((20_000, 85_000, 150_000))),
        ("cells 0, 20, 40", Cells((0, 20, 40))),
        ("retain 70% of 'a,b', c d ,'it''s'", Retain(0.7, ("a,b", "c d", "it's"))),
    ],
)
def test_noise_means(text: str, noise: Noise) -> None:
    assert resolve_noise(parse_noise(text), SALARY) == noise


@pytest.mark.parametrize("level", ["25%", "100%", "200%"])
def test_a_gaussian_level_is_the_width_of_the_95_percent_interval(level: str) -> None:
    noise = resolve_noise(parse_noise(f"gaussian {level}"), SALARY)
    assert isinstance(noise, Gaussian)
    assert noise.scale == pytest.approx(float(read_share(level, "")) * 130_000 / 3.919928, rel=1e-6)


def test_a_domain_in_the_text_comes_before_another() -> None:
    noise = resolve_noise(parse_noise("uniform 100% on 0,1.9"), SALARY)
    assert noise == Uniform(1.0, Domain(0, 1.9))


def test_texts_and_mappings_read_alike() -> None:
    assert parse_all_noise(["a=cells 5", '"b=c"=retain 0.5']) == parse_all_noise(
        {"a": "cells 5", "b=c": "retain 0.5"}
    )


@pytest.mark.parametrize(
    "text",
    [
        "", "salary", "salary=", "salary=poisson 5", "gaussian", "gaussian x", "gaussian -1", "gaussian 0",
        "gaussian 0%", "gaussian nan", "gaussian inf", "gaussian 1e999", "gaussian 5 at 95%",
        "gaussian 5% at 100%", "gaussian 5% at 0", "gaussian 5 on 3,3", "gaussian 5 on 3,1",
        "gaussian 5 on 0,1e999", "gaussian 5 whole", "gaussian 5 loud", "uniform 5 5", "cells 1", "cells 0",
        "cells 2.5", "cells 5 equal", "cells 3,2,1", "cells 1,1,2", "cells 0,1", "cells 99999", "cells a,b,c",
        "retain 0", "retain 1", "retain 100%", "retain 2", "retain 0.5 of", "retain 0.5 of a",
        "retain 0.5 of a,a", "retain 0.5 of 'a", "retain 0.5 of a'b,c", "retain x",
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        parse_noise(text)
    assert repr(text) in caught.value.problem
    assert "Write it as" in caught.value.remedy


def test_a_text_without_a_column_is_refused_in_a_list() -> None:
    with pytest.raises(InvalidOption, match="names no column"):
        parse_all_noise(["gaussian 5%"])


@pytest.mark.parametrize(
    ("text", "domain", "problem"),
    [
        ("gaussian 5%", None, "not known"),
        ("gaussian 5", None, "not known"),
        ("cells 5", None, "not known"),
        ("uniform 5%", Domain(3, 3), "single value"),
        ("uniform 5%", Domain(-1e308, 1e308), "not finite"),
        ("uniform 5%", Domain(0, 1e308), "too large"),
        ("cells 3", Domain(-1e200, 0), "too large"),
        ("gaussian 1e200", Domain(0, 1), "too large"),
        ("cells 5 equal-frequency", SALARY, "only where the original values are"),
        ("retain 0.5", None, "fewer than two values"),
    ],
)
def test_noise_that_needs_more_is_refused(text: str, domain: Any, problem: str) -> None:
    with pytest.raises(InvalidOption, match=problem):
        resolve_noise(parse_noise(text), domain, ["only one"])


def test_cells_are_half_open_but_for_the_last() -> None:
    assert Cells((0, 0.5, 20, 1e16)).labels == ("[0, 0.5)", "[0.5, 20)", "[20, 1e+16]")


@pytest.mark.parametrize(
    ("text", "width"), [("gaussian 100%", 5e-324), ("uniform 100%", 1e-300), ("uniform 5e-324", 1.0)]
)
def test_noise_that_is_too_small_is_refused_in_words(text: str, width: float) -> None:
    with pytest.raises(InvalidOption, match="noise of 'n' is too small") as error:
        resolve_noise(parse_noise(f"n={text}"), Domain(0, width))
    assert "e-" not in str(error.value).replace("5e-324", "")
