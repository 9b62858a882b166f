"""From typed text to items: normalised texts and words (`words`), nouns by WordNet (`lexicon`)."""
