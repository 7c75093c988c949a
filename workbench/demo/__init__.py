"""The demo: a scripted upstream and a scripted client, with the real proxy between them.

A *scene* is one conversation: what is asked, how the model answers turn by turn, what its tools give. The
*upstream* plays the model's part of a scene, the *client* the agent's, both in one process, the *traffic*.
"""

from workbench.demo.demo import Demo

__all__ = ["Demo"]
