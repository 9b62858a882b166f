"""From typed text to items: normalised texts and words (`words`), noun phrases (`phrases`), what queries mean (`concepts`)."""
