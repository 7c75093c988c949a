"""The screen. It only ever reads tapes; whatever happens here cannot cut anybody's stream."""
