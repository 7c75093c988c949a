"""The observer: what only a look at a whole answer shows, such as markers that reached the client as text."""

from workbench.observer.answers import Answered, Call, calls_in, choices_of, text_in
from workbench.observer.observations import OBSERVED, Observation
from workbench.observer.observer import argument_problem, observed

__all__ = [
    "OBSERVED",
    "Answered",
    "Call",
    "Observation",
    "argument_problem",
    "calls_in",
    "choices_of",
    "observed",
    "text_in",
]
