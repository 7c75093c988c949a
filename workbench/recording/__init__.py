"""Recording: every exchange on a tape, without ever keeping a stream waiting.

In the order in which a line meets the words:

recording     one exchange; takes what happens from the event loop
backlog       what the recorder's thread has not taken yet, bounded in bytes
secret rules  what a credential looks like, and how it is found in text that comes in parts
redaction     masks what is secret in headers, URLs, texts and JSON
answer mask   the same in the bytes of an answer, over reads and deltas
tape writer   makes lines of it, in order, for one tape file; `OpenTapes` has those of all running exchanges
index writer  a thread of its own that keeps the index up to date and deletes tapes that are too old
"""
