"""The proxy: the only sockets of the project, in a process of their own.

A glossary, in the order in which one request meets the words:

server        the process that listens
guard         refuses what must not come in: a foreign Host, a web page, a wrong token, something too large
incoming      the request as the client sent it, read whole
application   makes an exchange of it, and lives as long as the process
outgoing      the request as it goes up: its upstream, its address, its body
exchange      one request of a client and everything that is done for it
upstream      a request to a server and its reply, within limits of time; http1 has the connections
fault         what went wrong there, with a sentence that says what to do
relay         upstream's reads through the transformer to the client, while they come
intercept     a breakpoint holds an answer before the client has it, until a person decides; a watch
              looks for breakpoints in it while it comes
client        the other end: what is written there is written once, in order, and recorded
recording     the tape of the exchange, written by the recorder's own thread
control       what a viewer may ask of a running proxy
registration  how a viewer finds a running proxy; asking is what it asks then
team          the workers of one proxy, as one of them sees them; workers starts and replaces them
process       the proxy as a child process of the screen
"""
