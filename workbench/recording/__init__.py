"""Recording: every exchange on a tape, without ever keeping a stream waiting.

In the order in which a line meets the words: the *recording* takes it from the event loop, the *backlog*
holds it for the recorder's thread, the *redaction* masks what is secret, the *tape deck* has one *tape
writer* an exchange, which appends whole lines to a *tape file*; the *librarian*, a thread of its own, keeps
the index.
"""

from workbench.recording.recorder import Recorder
from workbench.recording.recording import Recording

__all__ = ["Recorder", "Recording"]
