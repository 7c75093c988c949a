"""Text and calls of a channel while they are open: what is held back, and where it ends."""
