"""The proxy: the only sockets of the project, in a process of their own.

A glossary, in the order in which one request meets the words:

guard      refuses what must not come in: a foreign Host, a web page, a wrong token, something too large
exchange   one request of a client and all that becomes of it
route      which upstream it goes to, and its body there
opening    all that is known of it before anything is sent
wire       the HTTP connection to upstreams; what fails there becomes a `Fault`
relay      upstream's reads through the transformer to the client, while they come
client     the other end: headers held back for a moment, a comment while upstream is silent
recording  the tape of the exchange, written by the recorder's own thread
control    what a viewer may ask of a running proxy
"""
