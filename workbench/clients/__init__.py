"""Programs that can use the proxy, and what each of them has to be told."""
