"""Mends: what a broken call should have looked like, one module for each way to write calls.

Each gives the edits that may help, best first; whether they do is found out by a trial.
"""
