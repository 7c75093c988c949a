"""Sources: what `workbench replay` opens, whatever it is.

A tape is read from its file, which may still grow. Anything else (a capture of a stream, a whole completion,
the plain text of a model) becomes a reel: the tape that it would have been. An `Opening` stands for either of
them, and costs next to nothing until it is opened.
"""

from workbench.sources.appraisal import Appraisal, appraise
from workbench.sources.composing import Compose
from workbench.sources.opening import Opening, Unreadable
from workbench.sources.places import openings_of

__all__ = ["Appraisal", "Compose", "Opening", "Unreadable", "appraise", "openings_of"]
