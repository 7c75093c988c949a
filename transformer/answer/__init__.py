"""From upstream's events to what each choice of the answer tells the client."""
