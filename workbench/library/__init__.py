"""The library: all tapes of a user, and the index by which they are found."""

from workbench.library.folders import marks_of
from workbench.library.index import Index
from workbench.library.rebuilding import rebuild
from workbench.library.retention import Keep, expire
from workbench.library.rows import Row
from workbench.library.viewer import Filter, Library

__all__ = ["Filter", "Index", "Keep", "Library", "Row", "expire", "marks_of", "rebuild"]
