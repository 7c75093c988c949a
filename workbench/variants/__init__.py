"""What if: an exchange with something about it changed."""

from workbench.variants.changes import Change, Cut, Merge, Offer, Retext, Split, Switch, describe, words
from workbench.variants.difference import Marks, changed_rows
from workbench.variants.saving import save_variant
from workbench.variants.script import Script, apply, script_of
from workbench.variants.switching import Knob, switches
from workbench.variants.texts import Text, retexts, texts_of

__all__ = [
    "Change",
    "Cut",
    "Knob",
    "Marks",
    "Merge",
    "Offer",
    "Retext",
    "Script",
    "Split",
    "Switch",
    "Text",
    "apply",
    "changed_rows",
    "describe",
    "retexts",
    "save_variant",
    "script_of",
    "switches",
    "texts_of",
    "words",
]
