"""The screens, in the order of the job. This is the one place that lists them.

A screen is a module here with a :class:`incrowd.studio.screen.Screen` called ``SCREEN`` and a template of the same name in
``studio/templates``. To add one, write both, and put its ``SCREEN`` into ``SCREENS`` where it comes in the job: navigation, routes
and the test that opens every screen follow.

What a screen's module uses:

``pages.page(request, "NAME.html", project=project, screen=SCREEN, **shown)``
    a whole page. The template extends ``layout.html`` and fills the block ``main``; the layout shows navigation, title, why, and what was chosen before.
``pages.fragment("_part.html", **shown)``
    a part of a page, for htmx (``hx-get``, ``hx-swap="outerHTML"``).
``pages.project_of(request)``, ``pages.studio_of(request).folder``, ``.runner``
    the project of the address (404 if there is none), the folder, and who runs jobs.
``pages.posted(function)``
    makes an endpoint of ``function(request, form)``. Functions are plain ones: they run in a thread and may take their time.
``pages.error_by_field(error, names)``
    puts the line of a `BadInputError` beside the field that it names. Render the same page with status 422, the form's values and the errors.
``jobs.add_job(folder, project.id, "kind", arguments, release=name, writes=[paths])``, then ``runner.wake()``
    runs ``incrowd ARGUMENTS --json`` in a process of its own, when its turn comes. ``jobs.jobs_of(folder, project.id, "kind")`` finds it again,
    ``views.view_of(folder, job)`` has its state, progress and result (the JSON object that it printed).
``commands.input_options(project)``, ``releases.places_of(folder, name).map``
    the options that say how the input is written, and the private map of a release.

What a template uses:

``{% import "_job.html" as jobs %}``, ``{{ jobs.box(view, project, here) }}``
    a job: waiting, running with its progress and a cancel button, failed with its line, cancelled, interrupted with "run again".
``<section id=ID hx-get=PART hx-trigger="studio:jobs from:body" hx-swap="outerHTML">``
    a part that is fetched again whenever something changed on disk, in this tab or another. There are ``studio:jobs``, ``studio:project`` and
    ``studio:releases``. A part that ends with ``data-say="..."`` is read out by screen readers when that text changes.
``<div class="chart" data-chart="ADDRESS" role="img" aria-label="...">``
    a chart: ADDRESS answers with ``pages.chart(spec)``, a Vega-Lite specification. Set ``charts=True`` for ``page``, which loads the library and allows the styles that it sets.

Heavy modules (numpy, pyarrow, numba: `incrowd.jobs` and below) are imported inside functions, so that the first screen is there at once;
they are loaded in the background half a second later.
"""

from __future__ import annotations

from incrowd.studio.screen import Screen
from incrowd.studio.screens.before_after import SCREEN as BEFORE_AFTER
from incrowd.studio.screens.choose import SCREEN as CHOOSE
from incrowd.studio.screens.data import SCREEN as DATA
from incrowd.studio.screens.publish import SCREEN as PUBLISH
from incrowd.studio.screens.releases import SCREEN as RELEASES
from incrowd.studio.screens.risk_after import SCREEN as RISK_AFTER
from incrowd.studio.screens.risk_now import SCREEN as RISK_NOW
from incrowd.studio.screens.run import SCREEN as RUN
from incrowd.studio.screens.words import SCREEN as WORDS

__all__ = ["SCREENS"]

SCREENS: tuple[Screen, ...] = (
    DATA,
    RISK_NOW,
    WORDS,
    CHOOSE,
    RUN,
    BEFORE_AFTER,
    RISK_AFTER,
    PUBLISH,
    RELEASES,
)
