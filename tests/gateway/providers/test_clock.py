"""One timer that ends whatever takes too long."""

from __future__ import annotations

import asyncio

import pytest

from incrowd.gateway.providers.clock import Clock

SECONDS = 0.05
FOR_EVER = 60.0


async def stay(clock, seconds=FOR_EVER):
    with clock.limit():
        await asyncio.sleep(seconds)
        return "in time"


def outcomes(*seconds, between=0.0):
    """Return what becomes of tasks that take so long, one begun after the other."""

    async def run():
        clock = Clock(SECONDS)
        tasks = []
        for each in seconds:
            tasks.append(asyncio.create_task(stay(clock, each)))
            await asyncio.sleep(between)
        return await asyncio.gather(*tasks, return_exceptions=True)

    return [each if isinstance(each, str) else type(each) for each in asyncio.run(run())]


def test_who_is_late_is_interrupted_and_nobody_else():
    found = outcomes(FOR_EVER, 0.0, FOR_EVER, 0.001, FOR_EVER, between=0.01)
    assert found == [TimeoutError, "in time", TimeoutError, "in time", TimeoutError]


def test_everybody_has_the_whole_time():
    async def run():
        clock, loop, times = Clock(SECONDS), asyncio.get_running_loop(), []

        async def timed():
            began = loop.time()
            with pytest.raises(TimeoutError):
                await stay(clock)
            times.append(loop.time() - began)

        async def later(seconds):
            await asyncio.sleep(seconds)
            await timed()

        await asyncio.gather(*(later(0.02 * number) for number in range(5)))
        return times

    times = asyncio.run(run())
    assert len(times) == 5
    assert min(times) >= SECONDS - 0.002
    assert max(times) < SECONDS + 1.0


def test_it_starts_again_after_a_rest():
    async def run():
        clock = Clock(SECONDS)
        assert await stay(clock, 0.0) == "in time"
        await asyncio.sleep(2 * SECONDS)
        with pytest.raises(TimeoutError):
            await stay(clock)

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
        clock = Clock(FOR_EVER)
        for _ in range(1_000):
            assert await stay(clock, 0) == "in time"
        assert len(set_timers) == 1

    asyncio.run(run())


def test_who_is_cancelled_by_somebody_else_is_cancelled():
    async def run():
        task = asyncio.create_task(stay(Clock(SECONDS)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())


def test_both_at_once_is_the_other_s_end():
    async def run():
        clock = Clock(0.0)

        async def late():
            with clock.limit():
                try:
                    await asyncio.sleep(FOR_EVER)
                except asyncio.CancelledError:
                    asyncio.current_task().cancel()  # somebody else, while it is being interrupted
                    raise

        task = asyncio.create_task(late())
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())


def test_an_error_of_its_own_passes_through():
    async def run():
        clock = Clock(SECONDS)
        with pytest.raises(ZeroDivisionError), clock.limit():
            _ = 1 / 0
        await asyncio.sleep(2 * SECONDS)  # nobody is interrupted later

    asyncio.run(run())


def test_only_tasks_can_be_interrupted():
    async def run():
        clock, problems = Clock(SECONDS), []

        def outside():
            try:
                with clock.limit():
                    pass
            except RuntimeError as problem:
                problems.append(problem)

        asyncio.get_running_loop().call_soon(outside)
        await asyncio.sleep(0.01)
        assert len(problems) == 1

    asyncio.run(run())
