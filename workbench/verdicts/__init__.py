"""Verdicts: what is to be said of an exchange, and the row that proves it.

The transformer says what it met on the way (its findings); the observer looks at the whole answer and says
what only that shows. Both, with the state of the exchange, are the facts from which `verdict` makes one
sentence. The index has the same facts as a player, so the list says the same as the bar above the panes.
"""

from workbench.verdicts.advice import advice
from workbench.verdicts.facts import Facts, answer_of, facts_of_player, facts_of_row, observations_of
from workbench.verdicts.judging import Verdict, verdict
from workbench.verdicts.kinds import SIGNS, Kind, Level
from workbench.verdicts.proofs import proof

__all__ = [
    "SIGNS",
    "Facts",
    "Kind",
    "Level",
    "Verdict",
    "advice",
    "answer_of",
    "facts_of_player",
    "facts_of_row",
    "observations_of",
    "proof",
    "verdict",
]
