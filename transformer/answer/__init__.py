"""From upstream's events to what the client gets.

In the order in which bytes meet the words:

stream        one streamed answer: bytes in, bytes out; its rest as plain text, when this package fails
events        what an event says, whatever the habits of its server
answer        all choices, what they share, and the ways in which an answer can end
choice        one of the answers, with a machine for each channel that is parsed
whole         the same for an answer that came in one piece
recognition   which dialect it is written in, by its model's name and by its first call
setting       dialect, policy, tools and ids: fixed before the first byte

and what is said about an answer that the client has:

observations  its choices and calls, read without trusting any of its types
conformance   which rules of real clients upstream's own calls break
leaks         calls that reached the client as text
review        all that only the whole answer shows
"""
