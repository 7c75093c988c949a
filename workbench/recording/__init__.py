"""Recording: every exchange on a tape, without ever keeping a stream waiting.

In the order in which a line meets the words:

recording     one exchange; takes what happens from the event loop
backlog       what the recorder's thread has not taken yet, bounded in bytes
redaction     masks what is secret
tape writer   makes lines of it, in order, for one tape file; `OpenTapes` has those of all running exchanges
index writer  a thread of its own that keeps the index up to date and deletes what is too old
"""
