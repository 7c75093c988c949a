"""Text and calls of a channel while they are open: what is held back, and where it ends.

machine     runs a dialect's table; its first page explains how, and what a dialect is
output      what a machine has for the client: prose, the beginning of a call, arguments
opencall    a call that is being read, and the ways in which it can end
tagcall     calls whose parameters are tags: where a value ends
taggrammar  wrapped calls of tags, whole: a dialect of them is a spelling
jsoncall    calls whose arguments are JSON text
writing     a call as a dialect writes it, and what its text cannot carry
mending     edits that may make a call of a broken one; of tags: tagmending
leakmarks   shapes by which a dialect's calls are recognised in plain text
"""
