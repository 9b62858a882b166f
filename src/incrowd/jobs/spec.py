"""What a job is: options as they are given, and the typed job that they become once they are checked.

Everything that can be refused before the input is read is refused here, and nothing below checks it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import index
from pathlib import Path
from typing import Any, NamedTuple, get_args

import msgspec

from incrowd.attacks.result import parse_max_risk
from incrowd.core.claims import Distinct, check_k
from incrowd.core.history import Past
from incrowd.core.kinds import parse_kinds
from incrowd.core.window import Window, WindowChoice, parse_window
from incrowd.errors import BadInputError, check_choice, option
from incrowd.jobs.anonymize import SEED_BITS, check_distinct, choose_seed
from incrowd.jobs.budget import check_budget
from incrowd.jobs.following import check_unit
from incrowd.jobs.moved import check_classes, moves_for
from incrowd.jobs.noisy import check_noisy
from incrowd.jobs.settings import Setting
from incrowd.logs import ITEMS, InputForm, Inputs, Unit, format_of, parse_unit, read_form
from incrowd.logs.files import find_parts, name_of
from incrowd.logs.input import Input
from incrowd.logs.items import WORD_ITEMS
from incrowd.logs.kinds import roles_of
from incrowd.methods.registry import GOALS, METHODS, Method, method_named
from incrowd.release.certificate import check_pages
from incrowd.release.files.exports import check_forms
from incrowd.release.files.heading import NO_HEADING, Heading, read_heading
from incrowd.release.files.window import SpelledWindow
from incrowd.release.history import read_past
from incrowd.release.private_map import check_map
from incrowd.release.private_report import check_apart, check_report
from incrowd.release.publication import NEEDS_MAP, check_out
from incrowd.release.series import Series, check_series
from incrowd.taxonomy import Unlisted
from incrowd.taxonomy.moves import Moves, MovesGiven
from incrowd.text.never import NeverList, read_never

__all__ = [
    "IN_MEMORY",
    "Job",
    "Options",
    "Taken",
    "check_input",
    "method_for",
    "read_choices",
    "read_job",
    "settled",
]

LARGEST_SEED = 2**SEED_BITS - 1
DEFAULT_GOAL = "words"
DEFAULT_K = 5
IN_MEMORY = Path()
"""The input and the output of a job on data that Python has read already, and whose release it writes later."""


@dataclass(frozen=True)
class Options:
    """The options of ``incrowd anonymize`` as they are given; see its help."""

    input: Inputs
    out: Path
    k: int | str | None = None
    method: str | None = None
    goal: str | None = None
    taxonomy: str | None = None
    items: str | None = None
    kinds: str | None = None
    unit: str | None = None
    sets: bool = False
    format: str = "auto"
    columns: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    time_format: str | None = None
    day: str | None = None
    segment: str | None = None
    unlisted: Unlisted | None = None
    moves: MovesGiven | None = None
    distinct: Distinct | None = None
    seed: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    text_forms: Sequence[str] = ()
    title: str | None = None
    date: str | None = None
    private_map: Path | None = None
    previous: Path | None = None
    previous_release: Path | None = None
    series: Path | None = None
    budget: Path | None = None
    window: str | None = None
    private_report: Path | None = None
    never: Path | None = None
    certificate: bool = False
    attack: bool = False
    max_risk: str | None = None
    force: bool = False
    memory: str = "4GB"
    keep_rejected: bool = False
    engine: str = "local"
    master: str | None = None
    dry_run: bool = False


class Taken(NamedTuple):
    """A window, and how many events of the input are inside, before and after it. For the owner.

    Of those before it, `late` came when their window had been released, and `unreleased` are in no window of the series.
    """

    window: Window
    inside: int
    before: int
    after: int
    late: int = 0
    unreleased: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            **msgspec.to_builtins(SpelledWindow.of(self.window)),
            **self._asdict(),
            "window": str(self.window),
        }


@dataclass(frozen=True)
class Job:
    """A job whose options are checked.

    Parameters
    ----------
    options
        What was given. Read from here only what needs no check: paths, flags and names that are printed.
    setting
        The method and its own parameters.
    k
        How many must share every published record; None for a method that has no k.
    unit, items
        How the input becomes units of items. Until it is read, they are None where nothing was said: see `settled`.
    form
        How the input is written, as far as it was said.
    chosen
        What was chosen because nothing was said, as the options that say it.
    seed
        The seed that was given, or that the method chose.
    heading
        What the publisher calls the release.
    kinds
        Further kinds of items that a unit has.
    past
        The people of the releases that it follows.
    never
        The words that are never published, where there is a list of them.
    moves
        The words that hang below other classes than the taxonomy has them, where there are any.
    asked, taken
        The window of time that was asked for; once the input is read, the window itself and what it leaves out.
    max_risk
        The most risk of each question with which it is published; None where the release is not attacked.
    """

    options: Options
    setting: Setting
    k: int | None
    unit: Unit | None
    items: str | None
    form: InputForm
    chosen: tuple[str, ...] = ()
    seed: int = 0
    heading: Heading = NO_HEADING
    kinds: tuple[str, ...] = ()
    past: Past | None = None
    never: NeverList | None = None
    moves: Moves | None = None
    asked: WindowChoice | None = None
    taken: Taken | None = None
    max_risk: Mapping[str, float] | None = None

    @property
    def method(self) -> Method:
        """The method."""
        return self.setting.method

    @property
    def counts_people(self) -> bool:
        """Whether k counts people of whom one may have several records."""
        return self.unit is not None and self.unit.is_part and self.options.distinct != "records"


def read_job(options: Options) -> Job:
    """Check the options of a job that publishes."""
    job = read_choices(options)
    check_forms(options.text_forms)
    heading = read_heading(options.title, options.date)
    check_out(options.out, force=options.force)
    if job.past is not None and options.private_map is None and not options.dry_run:
        raise BadInputError(NEEDS_MAP.format(option("private_map")))
    if options.private_map is not None:
        check_map(options.private_map, options.out, force=options.force)
    if options.private_report is not None:
        _check_report(options, options.private_report, job.method)
    _check_certificate(options, job)
    return replace(
        job, seed=_seed_of(options, job.method), heading=heading, max_risk=_max_risk(options, job.method)
    )


def _max_risk(options: Options, method: Method) -> Mapping[str, float] | None:
    """Return the most risk with which the release is published, where it is attacked before."""
    most = parse_max_risk(options.max_risk)
    if not options.attack and not most:
        return None
    flag = option("attack", value=True) if options.attack else option("max_risk")
    if method.is_noisy:
        raise BadInputError(
            f"{flag} would print, or refuse, what depends on the data, which method {method.name} must not: drop it; 'incrowd risk' attacks what is published"
        )
    if options.engine != "local":
        raise BadInputError(
            f"{flag} runs on this machine alone: drop it, and run 'incrowd risk' on what the cluster has released"
        )
    return most


def read_choices(options: Options) -> Job:
    """Check the options that say what is made, whatever it is made from and wherever it is written."""
    method, items = method_for(options)
    setting = Setting(method, method.read_parameters(options.parameters), method.name)
    job = check_input(options, [setting])
    check_distinct(method, options.distinct)
    if method.is_noisy:
        check_noisy(
            method,
            unit=options.unit,
            series=options.series,
            seed=None if options.input == IN_MEMORY else options.seed,
        )
    check_budget(options.budget, method, setting.parameters, options.out)
    asked = _asked_window(options, method)
    k = check_k(DEFAULT_K if options.k is None else options.k)
    if method.check_kinds:
        method.check_kinds(job.kinds, k, **setting.parameters)
    chosen = {option("method", method.name): options.method, option("k", k): method.is_noisy or options.k}
    return replace(
        job,
        k=None if method.is_noisy else k,  # noise does not depend on it
        items=job.items or items,
        seed=job.seed if options.seed is not None else choose_seed(method, None),
        never=None if options.never is None else _never_for(method, options.never),
        chosen=tuple(spelled for spelled, given in chosen.items() if given is None),
        past=_past_of(options, method),
        asked=asked,
    )


def _past_of(options: Options, method: Method) -> Past | None:
    """Read the people of the releases that this one follows; refuse a job that cannot follow."""
    if options.previous is None:
        if options.previous_release is not None:
            raise BadInputError(
                f"{option('previous_release')} needs {option('previous')}: the private map that was written with it"
            )
        return None
    if method.records_of is None:
        raise BadInputError(
            f"a release by method {method.name} cannot follow another: use {option('method', 'flock')} or partition, "
            f"or drop {option('previous')}"
        )
    check_unit(options.unit or "user")
    if options.series is not None:
        raise BadInputError(
            f"{option('series')} refuses releases that overlap, and {option('previous')} makes one that may: drop either"
        )
    return read_past(options.previous, options.previous_release)


def _asked_window(options: Options, method: Method) -> WindowChoice | None:
    """Return the window that was asked for; refuse one where it would say nothing."""
    if options.window is None:
        return None
    asked = parse_window(options.window)
    if method.promise != "k-anonymous tiles":
        raise BadInputError(
            f"{option('window')} is for method mosaic: drop it, or give method {method.name} a log of that time alone"
        )
    if asked.is_new and options.series is None:
        remedy = (
            "give FROM..TO" if options.input == IN_MEMORY else f"give {option('series', 'DIR')}, or FROM..TO"
        )
        raise BadInputError(
            f"{option('window', options.window)} goes on after the last release of a series: {remedy}"
        )
    return asked


def method_for(options: Options) -> tuple[Method, str | None]:
    """Return the method that was named, or the one for the goal, and the items that the goal is about, if it says."""
    if options.method is not None:
        if options.goal is not None:
            raise BadInputError(
                f"give {option('goal')}, which chooses a method, or {option('method')}, and not both"
            )
        return method_named(options.method), None
    goal = GOALS[check_choice("goal", options.goal or DEFAULT_GOAL, GOALS)]  # type: ignore[index]
    return method_named(goal.method), goal.items


def settled(job: Job, read: Input) -> Job:
    """Fill in how an input that was read becomes units of items where nothing was said: as suits the method and the input."""
    if read.is_baskets:
        if job.kinds:
            remedy = f"drop {option('kinds')}" if job.options.kinds else "of=weeks is for logs with times"
            raise BadInputError(f"{read.name} holds baskets, whose items are of one kind: {remedy}")
        if job.options.goal == "queries":
            raise BadInputError(f"{read.name} holds baskets and no queries: use {option('goal', 'words')}")
        unit, items = "user", None
    else:
        reads = job.setting.reads
        unit, items = reads.unit if read.has_times else "user", reads.items
    kind = read.kind_of_items(job.items or items)
    said: list[tuple[str, str | None]] = []
    if not read.is_baskets:
        said += [(option("items", kind), job.options.items), (option("unit", unit), job.options.unit)]
    if names_words(job, kind, job.options.taxonomy or "wordnet"):
        said.append((option("unlisted", "name"), None))
    return replace(
        job,
        unit=job.unit or parse_unit(unit),
        items=kind,
        chosen=(*job.chosen, *(spelled for spelled, given in said if given is None)),
    )


def names_words(job: Job, items: str, source: str) -> bool:
    """Tell whether words that WordNet lacks are named because nothing was said: where single words are placed on WordNet."""
    by_default = job.options.unlisted is None and not job.method.is_noisy
    return by_default and source == "wordnet" and items in WORD_ITEMS


def _seed_of(options: Options, method: Method) -> int:
    """Return the seed that was given, or the series has, or that the method chooses."""
    if options.series is None:
        return choose_seed(method, options.seed)
    check_series(options.series, options.out)
    if not method.seed_is_secret:  # it is published, and the series' own never is
        return choose_seed(method, options.seed)
    if options.seed is not None:
        raise BadInputError(f"{option('series')} has a secret seed of its own: drop {option('seed')}")
    return Series(options.series, read_only=options.dry_run).seed


def _never_for(method: Method, path: Path) -> NeverList:
    """Read the list of words that are never published; a list with noise has no place to say that there is one."""
    if method.is_noisy:
        raise BadInputError(f"method {method.name} does not take a list of words: drop {option('never')}")
    return read_never(path)


def _check_certificate(options: Options, job: Job) -> None:
    """Refuse a certificate of what no audit can confirm, or that cannot be written."""
    if options.certificate and job.setting.kind in ("none", "differential privacy"):
        raise BadInputError(
            f"what method {job.method.name} publishes cannot be confirmed by an audit: drop {option('certificate', value=True)}"
        )
    check_pages(options.out, force=options.force, wanted=options.certificate)


def _check_report(options: Options, report: Path, method: Method) -> None:
    """Refuse a private report that cannot be written."""
    if method.is_noisy:
        raise BadInputError(
            f"method {method.name} publishes a list and no one's records: drop {option('private_report')}"
        )
    check_report(report, options.out, force=options.force)
    check_apart([report] if options.private_map is None else [report, options.private_map])


def check_input(options: Options, settings: Sequence[Setting]) -> Job:
    """Check how the input is read, for one method or several; the job has the first, of records if any is, and no k."""
    seed = 0 if options.seed is None else _checked_seed(options.seed)
    if options.items is not None:
        check_choice("items", options.items, ITEMS)
    for name, value, choice in (
        ("unlisted", options.unlisted, Unlisted),
        ("distinct", options.distinct, Distinct),
    ):
        if value is not None:
            check_choice(name, value, get_args(choice))
    kinds = parse_kinds(options.kinds)
    _check_kinds(kinds, settings)
    # What noise asks for is no matter where methods of records take the same data: their audit holds the data's places against their options.
    first = min(settings, key=lambda setting: setting.method.is_noisy)
    kinds = kinds or first.reads.kinds
    form = replace(read_form(vars(options)), wanted=roles_of(kinds), by_first_lines=first.method.is_noisy)
    if form.segment and options.engine != "local":
        raise BadInputError(
            f"{option('segment')} works on this machine alone: drop {option('engine', options.engine)}"
        )
    return Job(
        options,
        first,
        None,
        None if options.unit is None else parse_unit(options.unit),
        _items_for(options, form, [setting.method for setting in settings]),
        form,
        seed=seed,
        kinds=kinds,
        moves=_moves_of(options, settings),
    )


def _moves_of(options: Options, settings: Iterable[Setting]) -> Moves | None:
    """Read the moved words; of data in memory, whose tree the caller may have, their classes are looked for later."""
    if options.moves is None:
        return None
    moves = moves_for(options.moves, settings, options.taxonomy)
    if options.input != IN_MEMORY:
        check_classes(moves, options.taxonomy or "wordnet", options.unlisted)
    return moves


def _check_kinds(kinds: Sequence[str], settings: Iterable[Setting]) -> None:
    """Refuse items of several kinds for methods that know words alone."""
    for setting in settings:
        if kinds and setting.method.promise != "k-anonymous tiles":
            raise BadInputError(
                f"method {setting.method.name} takes items of one kind: drop {option('kinds')}, or use {option('method', 'mosaic')}"
            )


def _checked_seed(seed: int) -> int:
    """Refuse a seed that is no natural number of 63 bits."""
    try:
        seed = index(seed)
    except TypeError:
        raise BadInputError(f"seed must be an integer (got '{seed}')") from None
    if seed < 0:
        raise BadInputError(f"seed must be 0 or more (got {seed})")
    if seed > LARGEST_SEED:
        raise BadInputError(f"seed must be at most {LARGEST_SEED} (got {seed})")
    return seed


def _items_for(options: Options, form: InputForm, methods: Iterable[Method]) -> str | None:
    """Return the items that every method works on: those that were chosen, or the default of all.

    Raises
    ------
    BadInputError
        A method cannot use the items, or the defaults differ; the message names the methods and what to choose.
    """
    named = list(dict.fromkeys(method.name for method in methods))
    by_meaning = [name for name in named if METHODS[name].needs_events]
    others = [name for name in named if not METHODS[name].needs_events]
    if not by_meaning:
        return options.items
    need = (
        f"method {by_meaning[0]} needs" if len(by_meaning) == 1 else f"methods {', '.join(by_meaning)} need"
    )
    if options.sets:
        raise BadInputError(f"{need} queries as often as they were typed: drop {option('sets')}")
    if options.input != IN_MEMORY and format_of(options.input, form) == "dat":
        name = name_of(options.input, find_parts(options.input))
        raise BadInputError(f"{need} a query log, and {name} holds baskets: choose another method")
    by_query = all(METHODS[name].is_noisy for name in by_meaning)  # what queries mean is nothing to them
    if options.items in (("concepts", "queries") if by_query else ("concepts",)):
        return options.items
    if options.items is not None:
        rest = (
            f"(all then need {option('items', 'concepts')}), or leave it out"
            if others
            else f"(it then uses {option('items', 'concepts')})"
        )
        raise BadInputError(f"{need} concepts: drop {option('items', options.items)} {rest}")
    if others and by_query:
        return "queries"  # what all can list
    if others:
        raise BadInputError(
            f"one input for all methods: {need} {option('items', 'concepts')}, and {', '.join(others)} would take nouns; "
            f"choose {option('items', 'concepts')}, or compare them apart"
        )
    return "concepts"
