"""The demo: a scripted model and a scripted client, with the real proxy between them.

A *conversation* says what is asked, how the model answers turn by turn, and what its tools give. *Traffic* is
the process that plays them, the model's part behind a listener and the client's part as an agent. *Launch*
puts it together: a library of its own, the proxy, the traffic.
"""
