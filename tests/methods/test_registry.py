"""Methods by name and their parameters by name: what is unknown is answered with what is nearest."""

from __future__ import annotations

import inspect

import pytest

from incrowd.core.promises import KINDS, promise_of
from incrowd.errors import BadInputError
from incrowd.methods.registry import METHODS, method_named
from strategies import variants_of


def test_every_method_makes_a_promise():
    assert set(METHODS) == set(KINDS)


def test_every_method_has_a_purpose_in_one_sentence_and_a_use():
    for method in METHODS.values():
        assert method.purpose.endswith(".")
        assert method.purpose.count(".") == 1
        assert method.use in {"publishing", "comparison"}
    for_comparison = {name for name, method in METHODS.items() if method.use == "comparison"}
    assert for_comparison == {"navarro", "erola", "plain", "poblete", "suppress"}


@pytest.mark.parametrize("name", METHODS)
def test_the_papers_literal_behaviour_promises_nothing(name):
    assert promise_of(name, method_named(name).read_parameters({})) == METHODS[name].promise
    for given in ({"verbatim": "true"}, {"terms": "verbatim"}):
        if given.keys() <= METHODS[name].parameters.keys():
            assert promise_of(name, method_named(name).read_parameters(given)) == "none"


def test_the_list_of_methods_says_when_nothing_is_promised():
    described = {method["name"]: method for method in [method.describe() for method in METHODS.values()]}
    assert described["ssc"]["promise"] == "k-anonymity; none with terms=verbatim"
    for name in ("microaggregation", "navarro", "erola", "plain"):
        assert described[name]["promise"] == "k-anonymity; none with verbatim=true"
    assert described["flock"]["promise"] == "k-anonymity"
    assert (described["korolova"]["use"], described["poblete"]["use"]) == ("publishing", "comparison")
    assert all(method["purpose"] for method in described.values())


def test_nobody_is_told_that_weeks_are_chosen():
    """They must not depend on the data, so the program never chooses them."""
    described = METHODS["dp"].describe()["parameters"]
    assert "since=str (required for of=weeks)" in described
    assert "weeks=int (required for of=weeks)" in described
    assert not any("by default chosen" in one for one in described)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_the_common_parameters_and_defaults_for_its_own(name):
    parameters = inspect.signature(METHODS[name].run).parameters
    assert list(parameters)[:2] == ["transactions", "taxonomy"]
    assert {"k", "seed"} <= set(parameters)
    assert all(own.default is not inspect.Parameter.empty for own in METHODS[name].parameters.values())


@pytest.mark.parametrize("name", METHODS)
def test_every_variant_is_accepted_as_it_is(name):
    for variant in variants_of(METHODS[name]):
        assert method_named(name).read_parameters(variant) == {
            **method_named(name).read_parameters({}),
            **variant,
        }


def test_variants_use_every_choice():
    assert variants_of(METHODS["partition"]) == [{"publish": "set"}, {"publish": "bag"}, {"publish": "lcg"}]


def test_a_known_method():
    assert method_named("partition") is METHODS["partition"]


def test_an_unknown_method():
    with pytest.raises(BadInputError) as caught:
        method_named("partitoin")
    known = ", ".join(METHODS)
    assert str(caught.value) == f"method must be one of {known} (got 'partitoin') (did you mean 'partition'?)"


def test_a_method_unlike_any_other_gets_no_suggestion():
    with pytest.raises(BadInputError, match=r"\(got 'zzz'\)$"):
        method_named("zzz")


def test_defaults_are_filled_in():
    assert method_named("partition").read_parameters({}) == {"publish": "set"}
    assert method_named("partition").read_parameters({"publish": "bag"}) == {"publish": "bag"}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            {"publsh": "bag"},
            "method partition has no parameter 'publsh' (it has: publish) (did you mean 'publish'?)",
        ),
        ({"k": "5"}, "method partition has no parameter 'k' (it has: publish)"),
        ({"publish": "bags"}, "publish must be one of set, bag, lcg (got 'bags') (did you mean 'bag'?)"),
        ({"publish": "zzz"}, "publish must be one of set, bag, lcg (got 'zzz')"),
    ],
)
def test_bad_parameters(given, says):
    with pytest.raises(BadInputError) as caught:
        method_named("partition").read_parameters(given)
    assert str(caught.value) == says


WHOLE_NUMBERS = [
    (method.name, one.partition("=")[0])
    for method in METHODS.values()
    for one in method.describe()["parameters"]
    if one.partition("=")[2].startswith("int") and (method.name, one[:2]) != ("apriori", "m=")
]  # an m beyond the longest row means all of it


@pytest.mark.parametrize(("method", "parameter"), WHOLE_NUMBERS)
def test_a_whole_number_larger_than_methods_count_is_refused_by_its_name(method, parameter):
    others = {"of": "weeks", "since": "2006-03-06", "weeks": "4"} if parameter == "weeks" else {}
    with pytest.raises(BadInputError, match=rf"^{parameter} must be ") as refused:
        method_named(method).read_parameters({**others, parameter: str(10**30)})
    assert "\n" not in str(refused.value)
