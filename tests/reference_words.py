"""WordNet's morphology word by word, for the tests to compare with: the rules of detachment over dictionaries."""

from __future__ import annotations

from collections.abc import Iterator

from incrowd.taxonomy.sources.wordnet import (
    ADJECTIVE,
    ADJECTIVE_RULES,
    NOUN_RULES,
    VERB,
    VERB_RULES,
    Lexicon,
    Rules,
)

__all__ = ["SingleWords"]


class SingleWords:
    """Looks single words up in the tables of a lexicon."""

    def __init__(self, words: Lexicon) -> None:
        lemmas = words.lemmas.to_pylist()
        self.lemmas = set(lemmas)
        forms = zip(words.exceptions.to_pylist(), words.exception_lemma.tolist(), strict=True)
        self.irregular = {form: lemmas[position] for form, position in forms}
        self.other_kind = dict(zip(words.others.to_pylist(), words.other_kind.tolist(), strict=True))

    def noun(self, word: str) -> str | None:
        """Return the noun lemma: the word itself, else its irregular base form, else by the rules; or None."""
        if word in self.lemmas:
            return word
        rules = () if len(word) < 3 or word.endswith("ss") else NOUN_RULES
        found = (base for base in base_forms(word, rules) if base in self.lemmas)
        return self.irregular.get(word) or next(found, None)

    def other_part_of_speech(self, word: str) -> bool:
        """Return whether WordNet lists a word, or a form of it, only as verb, adjective or adverb."""
        return self.noun(word) is None and (
            word in self.other_kind
            or self._is(VERB, word, VERB_RULES)
            or self._is(ADJECTIVE, word, ADJECTIVE_RULES)
        )

    def _is(self, kind: int, word: str, rules: Rules) -> bool:
        return any(self.other_kind.get(base, 0) & kind for base in base_forms(word, rules))


def base_forms(word: str, rules: Rules) -> Iterator[str]:
    return (word.removesuffix(ending) + instead for ending, instead in rules if word.endswith(ending))
