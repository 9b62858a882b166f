"""One timer that ends whatever takes too long."""

from __future__ import annotations

import asyncio

import pytest

from incrowd.gateway.providers.deadlines import Deadlines

SECONDS = 0.05
FOR_EVER = 60.0


async def stay(deadlines, seconds=FOR_EVER):
    with deadlines.limit():
        await asyncio.sleep(seconds)
        return "in time"


def outcomes(*seconds, between=0.0):
    """Return what becomes of tasks that take so long, one begun after the other."""

    async def run():
        deadlines = Deadlines(SECONDS)
        tasks = []
        for each in seconds:
            tasks.append(asyncio.create_task(stay(deadlines, each)))
            await asyncio.sleep(between)
        return await asyncio.gather(*tasks, return_exceptions=True)

    return [each if isinstance(each, str) else type(each) for each in asyncio.run(run())]


def test_only_late_tasks_are_interrupted():
    found = outcomes(FOR_EVER, 0.0, FOR_EVER, 0.001, FOR_EVER, between=0.01)
    assert found == [TimeoutError, "in time", TimeoutError, "in time", TimeoutError]


def test_every_task_has_the_whole_time():
    async def run():
        deadlines, loop, times = Deadlines(SECONDS), asyncio.get_running_loop(), []

        async def timed():
            began = loop.time()
            with pytest.raises(TimeoutError):
                await stay(deadlines)
            times.append(loop.time() - began)

        async def later(seconds):
            await asyncio.sleep(seconds)
            await timed()

        await asyncio.gather(*(later(0.02 * number) for number in range(5)))
        return times

    times = asyncio.run(run())
    assert len(times) == 5
    assert min(times) >= SECONDS - 0.002
    assert max(times) < FOR_EVER / 2


def test_it_starts_again_after_a_rest():
    async def run():
        deadlines = Deadlines(SECONDS)
        assert await stay(deadlines, 0.0) == "in time"
        await asyncio.sleep(2 * SECONDS)
        with pytest.raises(TimeoutError):
            await stay(deadlines)

    asyncio.run(run())


def test_one_timer_for_all():
    async def run():
        loop = asyncio.get_running_loop()
        set_timers = []
        call_at = loop.call_at
        loop.call_at = lambda when, call, *rest, **named: (
            set_timers.append(call),
            call_at(when, call, *rest, **named),
        )[1]
        deadlines = Deadlines(FOR_EVER)
        for _ in range(1_000):
            assert await stay(deadlines, 0) == "in time"
        assert len(set_timers) == 1

    asyncio.run(run())


def test_a_task_cancelled_from_elsewhere_is_cancelled():
    async def run():
        task = asyncio.create_task(stay(Deadlines(SECONDS)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())


def test_both_at_once_is_the_other_s_end():
    async def run():
        deadlines = Deadlines(0.0)

        async def late():
            with deadlines.limit():
                try:
                    await asyncio.sleep(FOR_EVER)
                except asyncio.CancelledError:
                    asyncio.current_task().cancel()  # another cancellation, while it is being interrupted
                    raise

        task = asyncio.create_task(late())
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())


def test_an_error_of_its_own_passes_through():
    async def run():
        deadlines = Deadlines(SECONDS)
        with pytest.raises(ZeroDivisionError), deadlines.limit():
            _ = 1 / 0
        await asyncio.sleep(2 * SECONDS)  # nothing is interrupted later

    asyncio.run(run())


def test_only_tasks_can_be_interrupted():
    async def run():
        deadlines, problems = Deadlines(SECONDS), []

        def outside():
            try:
                with deadlines.limit():
                    pass
            except RuntimeError as problem:
                problems.append(problem)

        asyncio.get_running_loop().call_soon(outside)
        await asyncio.sleep(0)
        assert len(problems) == 1

    asyncio.run(run())
