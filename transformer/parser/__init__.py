"""Text and calls of a channel while they are open: what is held back, and where it ends.

dialect        a dialect as data: a table of rules with guards, patterns for its tokens, words and defaults
machine        runs a dialect's table; its first page explains how
output         what a machine has for the client: prose, the beginning of a call, arguments
opencall       a call that is being read, and the ways in which it can end
tagcall        calls whose parameters are tags: where a value ends
jsoncall       calls whose arguments are JSON text
writing        a call as a dialect writes it, and what its text cannot carry
mending        edits that may make a call of a broken one; of tags: tagmending, of JSON: jsonmending
markers        a marker as a pattern, whole and while it arrives
leakmarks      shapes by which a dialect's calls are recognised in plain text

Two grammars are whole tables; a dialect of one of them is only a spelling:

taggrammar     wrapped calls of tags, spelled by tagspelling; functiontags and invoketags are two families
jsongrammar    calls that are JSON, between markers or without: jsonspelling
"""
