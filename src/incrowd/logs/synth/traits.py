"""The devices and languages of the people of a made-up log."""

from __future__ import annotations

import numpy as np

from incrowd.core.types import Ints64
from incrowd.logs.synth.draws import some, weighted
from incrowd.logs.synth.homes import ABROAD, Homes
from incrowd.logs.synth.people import TOWNS
from incrowd.logs.synth.terms import Terms

__all__ = ["DEVICES", "LANGUAGES", "draw_devices", "draw_languages"]

# The shares of people who use them most.
DEVICES = {
    "desktop/windows": 0.34, "mobile/android": 0.24, "mobile/ios": 0.22, "desktop/mac": 0.10, "tablet/ipados": 0.05,
    "tablet/android": 0.025, "desktop/linux": 0.015, "tv/android": 0.007, "mobile/other": 0.003,
}  # fmt: skip
# The share of people who have a second device.
SECOND_DEVICE = 0.55
# The shares among people who live in the United States, where Spanish is not more frequent than elsewhere.
LANGUAGES = {
    "en-US": 0.910, "es-US": 0.040, "en-GB": 0.015, "zh-US": 0.012, "fr-US": 0.008, "vi-US": 0.006, "de-DE": 0.005,
    "pt-BR": 0.003, "haw-US": 0.001, "en-CA": 0, "fr-CA": 0, "es-MX": 0, "en-AU": 0, "en-IE": 0, "fr-FR": 0,
}  # fmt: skip
# The share of Spanish in the states in which it is more frequent.
MORE_SPANISH, SPANISH_STATES = 0.20, ("tx", "ca", "fl", "nm", "az")
# The language abroad, by the beginning of a place.
ABROAD_LANGUAGE = {
    "GB": "en-GB", "CA/QC": "fr-CA", "CA": "en-CA", "MX": "es-MX", "AU": "en-AU", "DE": "de-DE", "IE": "en-IE",
    "FR": "fr-FR",
}  # fmt: skip


def draw_devices(rng: np.random.Generator, count: int) -> Ints64:
    """Draw the two devices of each person, as numbers in `DEVICES`; for many they are the same."""
    share = np.array(list(DEVICES.values()))
    most, other = (weighted(rng, share, count) for _ in range(2))
    return np.stack([most, np.where(some(rng, SECOND_DEVICE, count), other, most)], axis=1)


def draw_languages(terms: Terms, rng: np.random.Generator, homes: Homes) -> Ints64:
    """Draw the language of each person, as a number in `LANGUAGES`: it depends on where they live."""
    names = list(LANGUAGES)
    count = len(homes.home)
    usual = weighted(rng, np.array(list(LANGUAGES.values())), count)
    first_code = terms.first("state_codes")
    codes = terms.pieces[first_code : first_code + terms.count("state_codes")]
    southern = np.array([code in SPANISH_STATES for code in codes])[homes.states(terms)]
    here = np.where(southern & some(rng, MORE_SPANISH, count), names.index("es-US"), usual)
    abroad = np.array([names.index(_spoken(place)) for place in ABROAD])
    number = np.maximum(homes.home - terms.count("cities") - TOWNS, 0)
    return np.where(homes.is_abroad(terms), abroad[number], here)


def _spoken(place: str) -> str:
    return next(language for start, language in ABROAD_LANGUAGE.items() if place.startswith(start))
