"""The proxy: the only sockets of the project, in a process of their own.

A glossary, in the order in which one request meets the words:

server        the process that listens
guard         refuses what must not come in: a foreign Host, a web page, a wrong token, something too large
incoming      the request as the client sent it, read whole
routing       which upstream it goes to, and its body there
exchange      one request of a client and everything that is done for it
upstream      the HTTP connection to a server; what fails there becomes a `Fault`
relay         upstream's reads through the transformer to the client, while they come
recording     the tape of the exchange, written by the recorder's own thread
control       what a viewer may ask of a running proxy
registration  how a viewer finds a running proxy and asks it, for example to send a request again
process       the proxy as a child process of the screen
"""
