"""The demo: a scripted model and a scripted client, with the real proxy between them.

scripts  conversations: what is asked, how the model answers turn by turn, and what its tools give
traffic  the process that plays them: the model's part as a server, the client's part as an agent; and a model
         that sometimes writes its calls wrong, for `workbench try --demo`
launch   all of it together: a library of its own, the proxy, the traffic, and tips on what to look at
"""
